-- Statements as lock libraries, job queues and frameworks send them. They run in this order on one connection.

-- Laravel: cache locks and the database queue
create table `cache_locks` (`key` varchar(255) not null, `owner` varchar(255) not null, `expiration` int not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `cache_locks` add primary key (`key`);
insert into `cache_locks` (`key`, `owner`, `expiration`) values ('laravel_cache_foo', 'abc', 1767261700);
insert into `cache_locks` (`key`, `owner`, `expiration`) values ('laravel_cache_foo', 'def', 1767261700);
update `cache_locks` set `owner` = 'def', `expiration` = 1767261800 where `key` = 'laravel_cache_foo' and (`owner` = 'def' or `expiration` <= 1767261600);
update `cache_locks` set `owner` = 'def', `expiration` = 1767261800 where `key` = 'laravel_cache_foo' and (`owner` = 'def' or `expiration` <= 1767261701);
select * from `cache_locks` where `key` = 'laravel_cache_foo' limit 1;
delete from `cache_locks` where `expiration` <= 1767261600;
delete from `cache_locks` where `key` = 'laravel_cache_foo' and `owner` = 'abc';
delete from `cache_locks` where `key` = 'laravel_cache_foo' and `owner` = 'def';
create table `jobs` (`id` bigint unsigned not null auto_increment primary key, `queue` varchar(255) not null, `payload` longtext not null, `attempts` tinyint unsigned not null, `reserved_at` int unsigned null, `available_at` int unsigned not null, `created_at` int unsigned not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci';
alter table `jobs` add index `jobs_queue_index`(`queue`);
insert into `jobs` (`queue`, `attempts`, `reserved_at`, `available_at`, `created_at`, `payload`) values ('default', 0, NULL, 1767261600, 1767261600, '{"uuid":"1"}'), ('default', 0, NULL, 1767261600, 1767261600, '{"uuid":"2"}');
begin;
select * from `jobs` where `queue` = 'default' and ((`reserved_at` is null and `available_at` <= 1767261600) or (`reserved_at` <= 1767261510)) order by `id` asc limit 1 for update skip locked;
update `jobs` set `reserved_at` = 1767261600, `attempts` = 1 where `id` = 1;
commit;
delete from `jobs` where `id` = 1;

-- ShedLock
CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL,
    locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name));
INSERT INTO shedlock(name, lock_until, locked_at, locked_by) VALUES('task', '2026-01-01 10:01:00.000', '2026-01-01 10:00:00.250', 'host');
INSERT IGNORE INTO shedlock(name, lock_until, locked_at, locked_by) VALUES('task', TIMESTAMPADD(MICROSECOND, 60000000, UTC_TIMESTAMP(3)), UTC_TIMESTAMP(3), 'host');
SELECT @@warning_count;
UPDATE shedlock SET lock_until = TIMESTAMPADD(MICROSECOND, 60000000, UTC_TIMESTAMP(3)), locked_at = UTC_TIMESTAMP(3), locked_by = 'host' WHERE name = 'task' AND lock_until <= UTC_TIMESTAMP(3);
UPDATE shedlock SET lock_until = '2026-01-01 10:00:00.250' WHERE name = 'task' AND locked_by = 'host';
UPDATE shedlock SET lock_until = IF(TIMESTAMPADD(MICROSECOND, 1, locked_at) > UTC_TIMESTAMP(3), TIMESTAMPADD(SECOND, 1, locked_at), UTC_TIMESTAMP(3)) WHERE name = 'task' AND locked_by = 'host';
SELECT * FROM shedlock;

-- db-scheduler
create table scheduled_tasks (
  task_name varchar(100) not null,
  task_instance varchar(100) not null,
  task_data text,
  execution_time timestamp(6) not null,
  picked BOOLEAN not null,
  picked_by varchar(50),
  last_success timestamp(6) null,
  last_heartbeat timestamp(6) null,
  version BIGINT not null,
  priority SMALLINT,
  PRIMARY KEY (task_name, task_instance),
  INDEX execution_time_idx (execution_time),
  INDEX priority_execution_time_idx (priority desc, execution_time asc)
);
insert into scheduled_tasks(task_name, task_instance, task_data, execution_time, picked, version, priority) values('t', '1', null, '2026-01-01 10:00:00', false, 1, 0);
select * from scheduled_tasks where picked = false and execution_time <= '2026-01-01 10:00:00' order by execution_time asc LIMIT 10 for update skip locked;
update scheduled_tasks set picked = true, picked_by = 'me', last_heartbeat = now(6), version = version + 1 where picked = false and task_name = 't' and task_instance = '1' and version = 1;
update scheduled_tasks set last_heartbeat = now(6) where task_name = 't' and task_instance = '1' and version = 1;

-- Quartz
CREATE TABLE QRTZ_LOCKS (
SCHED_NAME VARCHAR(120) NOT NULL,
LOCK_NAME VARCHAR(40) NOT NULL,
PRIMARY KEY (SCHED_NAME,LOCK_NAME))
ENGINE=InnoDB;
SELECT * FROM QRTZ_LOCKS WHERE SCHED_NAME = 's' AND LOCK_NAME = 'TRIGGER_ACCESS' FOR UPDATE;
INSERT INTO QRTZ_LOCKS(SCHED_NAME, LOCK_NAME) VALUES ('s', 'TRIGGER_ACCESS');

-- Rails: with_lock, optimistic locking, Solid Queue
CREATE TABLE `accounts` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `balance` decimal(10,2), `lock_version` int DEFAULT 0 NOT NULL, `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL, INDEX `index_accounts_on_balance` (`balance`)) ENGINE=InnoDB CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COMMENT='x';
SET @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483;
INSERT INTO `accounts` (`balance`, `lock_version`, `created_at`, `updated_at`) VALUES (10.0, 0, '2026-01-01 10:00:00.123456', '2026-01-01 10:00:00.123456');
SELECT `accounts`.* FROM `accounts` WHERE `accounts`.`id` = 1 LIMIT 1 FOR UPDATE;
UPDATE `accounts` SET `accounts`.`balance` = 5.0, `accounts`.`updated_at` = '2026-01-01 10:00:01.123456', `accounts`.`lock_version` = 1 WHERE `accounts`.`id` = 1 AND `accounts`.`lock_version` = 0;
UPDATE `accounts` SET `accounts`.`balance` = 4.0, `accounts`.`lock_version` = 1 WHERE `accounts`.`id` = 1 AND `accounts`.`lock_version` = 0;
SELECT 1 AS one FROM `accounts` WHERE `accounts`.`id` = 1 LIMIT 1;
CREATE TABLE `solid_queue_ready_executions` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `job_id` bigint NOT NULL, `queue_name` varchar(255) NOT NULL, `priority` int DEFAULT 0 NOT NULL, `created_at` datetime(6) NOT NULL, UNIQUE INDEX `i` (`job_id`), INDEX `p` (`priority`, `job_id`));
CREATE INDEX `q` ON `solid_queue_ready_executions` (`queue_name`, `priority`, `job_id`);
INSERT INTO `solid_queue_ready_executions` (`job_id`, `queue_name`, `priority`, `created_at`) VALUES (1, 'default', 0, NOW(6)), (2, 'default', 0, NOW(6)) ON DUPLICATE KEY UPDATE `job_id`=`job_id`;
SELECT `job_id` FROM `solid_queue_ready_executions` ORDER BY `priority` ASC, `job_id` ASC LIMIT 1 FOR UPDATE SKIP LOCKED;
DELETE FROM `solid_queue_ready_executions` WHERE `job_id` IN (1);
DROP INDEX `q` ON `solid_queue_ready_executions`;

-- Django
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SQL_AUTO_IS_NULL = 0;
SELECT VERSION() IS NOT NULL, @@sql_auto_is_null, @@lower_case_table_names;
CREATE TABLE `app_lock` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(100) NOT NULL UNIQUE, `held` bool NOT NULL, `until` datetime(6) NULL);
CREATE INDEX `app_lock_until` ON `app_lock` (`until`);
INSERT INTO `app_lock` (`name`, `held`, `until`) VALUES ('a', 0, NULL);
SELECT `app_lock`.`id`, `app_lock`.`name`, `app_lock`.`held` FROM `app_lock` WHERE `app_lock`.`name` = 'a' LIMIT 21 FOR UPDATE NOWAIT;
UPDATE `app_lock` SET `held` = 1, `until` = '2026-01-01 10:00:30.000000' WHERE (`app_lock`.`id` = 1 AND (`app_lock`.`until` IS NULL OR `app_lock`.`until` < '2026-01-01 10:00:00.250000'));
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- Definitions as the server prints them, and as ALTER TABLE changes them
create table d (id int auto_increment primary key, a tinyint unsigned default 1, b boolean not null default true, v varchar(8) not null default 'd''x', t text, t2 text not null, dt datetime(3) default current_timestamp(3) on update current_timestamp(3), ts timestamp null, ts2 timestamp not null default current_timestamp, de decimal(8,2) default 1.5, f double default 1e3, ch char(5), n varchar(9) default null, big bigint unsigned, ex int default (1+2), unique key u (a), key k (b, v), unique (de), constraint pos check (a < 100), constraint c1 check (v <> 'x' and t is not null), constraint c2 check (b between 1 and 2 or b in (1,2) or v like 'a%'), constraint c3 check (v not in ('a','b') and b is not false), constraint c4 check (case when b then 1 else 0 end)) auto_increment=5;
SHOW CREATE TABLE d;
ALTER TABLE d MODIFY nope INT;
ALTER TABLE d CHANGE nope x INT;
ALTER TABLE d CHANGE de id INT;
ALTER TABLE d CHANGE de cost SMALLINT NOT NULL DEFAULT 7 FIRST;
ALTER TABLE d MODIFY ch CHAR(9) AFTER id, DROP COLUMN f, ADD z INT;
ALTER TABLE d MODIFY v VARCHAR(3) NOT NULL PRIMARY KEY;
ALTER TABLE d MODIFY big INT UNIQUE;
ALTER TABLE d MODIFY id BIGINT UNSIGNED AUTO_INCREMENT;
SHOW CREATE TABLE d;
DROP TABLE d;
CREATE TABLE d (x VARCHAR(10), y INT NOT NULL UNIQUE, z INT, KEY zz (z, y));
INSERT INTO d VALUES ('5', 1, 300), ('6', 2, 1), ('77', 3, 2);
ALTER TABLE d MODIFY z TINYINT;
ALTER TABLE d MODIFY x INT;
ALTER TABLE d CHANGE y yy BIGINT NOT NULL;
SHOW CREATE TABLE d;
SELECT *, x + 1 FROM d ORDER BY yy;
ALTER TABLE d DROP COLUMN yy;
SHOW CREATE TABLE d;
ALTER TABLE d CHANGE x X VARCHAR(7);
ALTER TABLE d CHANGE X y VARCHAR(8), ADD x INT AFTER y;
ALTER TABLE d CHANGE x y INT, CHANGE y x INT;
SELECT * FROM d ORDER BY 1;
ALTER TABLE d MODIFY y INT AUTO_INCREMENT PRIMARY KEY;
INSERT INTO d () VALUES ();
SELECT * FROM d ORDER BY y;
SHOW CREATE TABLE d;
DROP TABLE d;

-- Derived tables
create table j (id int primary key, q varchar(9), n int);
insert into j values (1,'a',5),(2,'b',6),(3,'a',7);
select * from (select id, n*2 as nn from j where q='a') as t where nn > 10;
select t.q, c from (select q, count(*) c from j group by q) t order by c desc, q;
select * from (select 1) x;
select * from (select id, id from j) x;
select * from (select id from j) as j, j as k where j.id = k.id order by 1;
select * from j where id in (select id from (select max(id) as id from j group by q) as m);
update j set n = n + 1 where id = (select id from (select min(id) as id from j where q = 'a') as m);
delete from j where id in (select id from (select id from j order by n desc limit 1) as m);
insert into j select id+10, q, n from (select * from j) as c;
select * from j order by id;
select (select a from (select max(n) a from j where j.id = o.id) z) from j o;
select * from (select * from (select id from j) a) b order by id limit 2;
select * from j left join (select q, max(n) m from j group by q) g on g.q = j.q and g.m = j.n order by id;
select sum(nn) from (select n/3 as nn from j) x;
select * from (select now() < '2030-01-01' as a, null as b, 1.5 as c, '5' as d) x where d = 5 and c = 1.5;
select coalesce(b, 'x'), if(1, c, 7) from (select null as b, 1.50 as c) x;
select nope from (select id from j) x;
select x.nope from (select id from j) x;
select * from (select nope from j) x;
select q from (select q, id from j) x group by q order by q;
select distinct q from (select q from j) as d order by q desc;
select count(*), min(d.q) from (select distinct q from j) d;
drop table j;

-- Decimals that become strings, doubles between two shortest texts, and what stands behind a NULL
CREATE TABLE n (id INT PRIMARY KEY, c TEXT, v VARCHAR(30), d DECIMAL(8,2), u DECIMAL(20,0) UNSIGNED, du DOUBLE UNSIGNED, i INT, z INT);
INSERT INTO n VALUES (1, COALESCE(NULL, IF(false, 12345.678, -1)), IF(false, 12345.678, -1), COALESCE(NULL, IF(false, 12345.678, -1)), 3, 4, NULL, 0);
SELECT *, CONCAT(COALESCE(NULL, IF(false, 12345.678, -1))), COALESCE(NULL, IF(false, 12345.678, -1)) FROM n;
UPDATE n SET c = 1/3, v = IF(true, 1.55, 2/3), d = 1/3;
SELECT c, v, d FROM n;
UPDATE n SET c = 2.5/3 + 0, v = CONCAT(1/3), d = NULL;
SELECT c, v, d FROM n;
SELECT 9/8388608e0, -9/8388608e0, 0.1e0 + 0.2e0, 1e22, 123456789012345678e0, 5e-324, 1.7976931348623157e308;
UPDATE n SET c = d - d, v = 18446744073709551615e0;
UPDATE n SET d = 1.5, v = 2e0/3;
UPDATE n SET c = d - d;
SELECT c, v FROM n;
CREATE TABLE w (c CHAR(5), v VARCHAR(8));
INSERT INTO w VALUES (0.0123456e0, 123456789012e0), (12345.678e0, 12345.678e0), (0.00123456e0, 0.000123456e0), (99999.5e0, 9999999.96e0), (0.1e0+0.2e0, -2e0/3);
INSERT INTO w VALUES (-1e100, 1);
INSERT INTO w VALUES (-9223372036854775808e0, 1);
INSERT INTO w VALUES (-0.00123456e0, 1);
INSERT IGNORE INTO w VALUES (-9223372036854775808e0, -1e100), (-0.00123456e0, -1.5e100);
SELECT * FROM w;
DROP TABLE w;
SELECT u DIV -1 FROM n;
SELECT 2 - (du DIV -1.5) FROM n;
SELECT u DIV 1.5, u % -2, u * -1, u - 5, -u, u / -2, COALESCE(u, 1) DIV -1, (u + 1) DIV -1, -1 DIV u FROM n;
UPDATE n SET c = MOD(i, 4 DIV z);
UPDATE n SET c = i % (4 DIV z);
UPDATE n SET c = i DIV (4 DIV z);
UPDATE n SET c = MOD(i, 4 / z);
UPDATE n SET c = d % (4 DIV z);
UPDATE n SET c = d DIV (4 DIV z);
UPDATE n SET c = d / (4 DIV z);
UPDATE n SET c = d + (4 / z);
UPDATE n SET c = i + (4 DIV z);
DROP TABLE n;

-- Advisory locks, times, and a fenced write
SELECT GET_LOCK('app', 5), GET_LOCK('other', 0.5), IS_USED_LOCK('app') = CONNECTION_ID(), IS_FREE_LOCK('app'), RELEASE_LOCK('app'), RELEASE_LOCK('app');
DO RELEASE_ALL_LOCKS();
SELECT NOW() + INTERVAL 30 SECOND, NOW(3) - INTERVAL 1 MINUTE, DATE_ADD(NOW(), INTERVAL 5 MINUTE), DATE_SUB(NOW(3), INTERVAL 500000 MICROSECOND), ADDDATE('2026-01-01', 31), SUBDATE('2026-03-01 00:00:00', 1);
SELECT UNIX_TIMESTAMP(), UNIX_TIMESTAMP(NOW(3)), UNIX_TIMESTAMP('2026-01-01 00:00:00'), FROM_UNIXTIME(1767261600), TIMESTAMPDIFF(SECOND, '2026-01-01 09:00:00', NOW());
CREATE TABLE IF NOT EXISTS inventory (sku VARCHAR(32) CHARACTER SET utf8mb4 NOT NULL COMMENT 'which', qty INT UNSIGNED NOT NULL, CONSTRAINT pk PRIMARY KEY (sku), CONSTRAINT positive CHECK (qty < 1000)) ENGINE=InnoDB AUTO_INCREMENT=1 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE IF NOT EXISTS inventory (id INT);
SHOW WARNINGS;
INSERT INTO inventory VALUES ('sku-1', 10), ('sku-2', 20);
ALTER TABLE inventory ADD COLUMN fence_token BIGINT UNSIGNED NOT NULL DEFAULT 0, ADD note VARCHAR(20) NULL AFTER sku, ADD KEY by_qty (qty);
SELECT * FROM inventory;
UPDATE inventory SET qty = qty - 1, fence_token = 7 WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < 7;
UPDATE inventory SET qty = qty - 1, fence_token = 7 WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < 7;
INSERT INTO inventory (sku, qty, fence_token) VALUES ('sku-1', 9, 8) ON DUPLICATE KEY UPDATE qty = IF(VALUES(fence_token) > fence_token, VALUES(qty), qty), fence_token = GREATEST(fence_token, VALUES(fence_token));
INSERT INTO inventory (sku, qty) SELECT 'sku-3', 1 FROM DUAL WHERE NOT EXISTS (SELECT * FROM inventory WHERE sku = 'sku-3');
ALTER TABLE inventory DROP KEY by_qty, DROP COLUMN note;
ALTER TABLE inventory ADD UNIQUE KEY one_token (fence_token);
CREATE UNIQUE INDEX one_qty ON inventory (qty);
DROP INDEX nope ON inventory;
SELECT * FROM inventory ORDER BY sku;
SHOW TABLES LIKE 'QRTZ%';
SHOW VARIABLES LIKE 'autocommit';
SHOW SESSION VARIABLES LIKE 'innodb_lock_wait_timeout';
SHOW COUNT(*) WARNINGS;
SELECT 1/0, 5 % 0, 1 DIV 0;
SELECT @@warning_count;
SELECT 1/0;
SHOW WARNINGS;
SELECT 'a' = 0, '7up' > 1, 'x' + 1, IF('b', 1, 2), 'c' IN (1);
SELECT @@warning_count, @@error_count;
SELECT sku FROM inventory WHERE sku = 0 ORDER BY sku;
SELECT @@warning_count;
DELETE inventory;
DELETE inventory WHERE sku = 'sku-1';
DELETE inventory.*, jobs;
START TRANSACTION;
DELETE FROM inventory WHERE sku = 'sku-1';
ROLLBACK AND CHAIN;
UPDATE inventory SET qty = 77 WHERE sku = 'sku-2';
COMMIT WORK AND CHAIN NO RELEASE;
UPDATE inventory SET qty = 78 WHERE sku = 'sku-2';
ROLLBACK;
COMMIT AND CHAIN RELEASE;
SELECT sku, qty FROM inventory ORDER BY sku;
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
/*!40101 SET @before = 1 */;
SELECT @before, CURRENT_USER = 'root@localhost' /* in the playground */ -- and no more
;
DROP TABLE IF EXISTS nope, inventory, app_lock, `jobs`;
SHOW WARNINGS;
DROP TABLE accounts, QRTZ_LOCKS, cache_locks, scheduled_tasks, shedlock, solid_queue_ready_executions;
