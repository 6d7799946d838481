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
SELECT -5 DIV IF(1, u, u) FROM n;
SELECT -5 DIV COALESCE(u, NULL), -5 DIV CASE WHEN 1 THEN u ELSE NULL END FROM n;
SELECT -5 DIV IF(1, u, NULL) FROM n;
SELECT -5 DIV CASE WHEN 1 THEN u END FROM n;
SELECT -5 DIV LEAST(u, u) FROM n;
SELECT -5 DIV IFNULL(u, du), -5 DIV IF(1, u, id), -5 DIV (u + 1) FROM n;
SET @a = 1/3, @b = 5/1, @c = 1.5 * 2, @d = 2e0/3, @e = NOW(3);
SELECT @a, @b, @c, @d, @e, @e + 0, @f := 5/4;
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

-- Spring Integration JdbcLockRepository
CREATE TABLE INT_LOCK  (
	LOCK_KEY CHAR(36) NOT NULL,
	REGION VARCHAR(100) NOT NULL,
	CLIENT_ID CHAR(36),
	CREATED_DATE DATETIME(6) NOT NULL,
	EXPIRED_AFTER DATETIME(6) NOT NULL,
	constraint INT_LOCK_PK primary key (LOCK_KEY, REGION)
) ENGINE=InnoDB;
SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
DELETE FROM INT_LOCK WHERE REGION='DEFAULT' AND LOCK_KEY='k1' AND CLIENT_ID='c1';
UPDATE INT_LOCK SET CLIENT_ID='c1', CREATED_DATE=TIMESTAMP '2026-01-01 10:00:00.25', EXPIRED_AFTER='2026-01-01 10:00:10.25' WHERE REGION='DEFAULT' AND LOCK_KEY='k1' AND (CLIENT_ID='c1' OR EXPIRED_AFTER<'2026-01-01 10:00:00.25');
INSERT INTO INT_LOCK (REGION, LOCK_KEY, CLIENT_ID, CREATED_DATE, EXPIRED_AFTER) VALUES ('DEFAULT', 'k1', 'c1', '2026-01-01 10:00:00.25', '2026-01-01 10:00:10.25');
INSERT INTO INT_LOCK (REGION, LOCK_KEY, CLIENT_ID, CREATED_DATE, EXPIRED_AFTER) VALUES ('DEFAULT', 'k1', 'c2', '2026-01-01 10:00:00.25', '2026-01-01 10:00:10.25');
SELECT COUNT(REGION) FROM INT_LOCK WHERE REGION='DEFAULT' AND LOCK_KEY='k1' AND CLIENT_ID='c1' AND EXPIRED_AFTER>='2026-01-01 10:00:05';
UPDATE INT_LOCK SET EXPIRED_AFTER='2026-01-01 10:00:20' WHERE REGION='DEFAULT' AND LOCK_KEY='k1' AND CLIENT_ID='c1';
DELETE FROM INT_LOCK WHERE REGION='DEFAULT' AND EXPIRED_AFTER<'2026-01-01 10:00:30';
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
DROP TABLE INT_LOCK;

-- Quartz in full
CREATE TABLE QRTZ_TRIGGERS (
SCHED_NAME VARCHAR(120) NOT NULL,
TRIGGER_NAME VARCHAR(190) NOT NULL,
TRIGGER_GROUP VARCHAR(190) NOT NULL,
NEXT_FIRE_TIME BIGINT(13) NULL,
PRIORITY INTEGER NULL,
TRIGGER_STATE VARCHAR(16) NOT NULL,
MISFIRE_INSTR SMALLINT(2) NULL,
IS_DURABLE VARCHAR(1) NOT NULL,
PRIMARY KEY (SCHED_NAME,TRIGGER_NAME,TRIGGER_GROUP))
ENGINE=InnoDB;
CREATE INDEX IDX_QRTZ_T_NFT_ST ON QRTZ_TRIGGERS(SCHED_NAME,TRIGGER_STATE,NEXT_FIRE_TIME);
INSERT INTO QRTZ_TRIGGERS VALUES ('s', 't1', 'g', 1000, 5, 'WAITING', 0, '1'), ('s', 't2', 'g', 900, NULL, 'WAITING', -1, '1');
SELECT TRIGGER_NAME, TRIGGER_GROUP, NEXT_FIRE_TIME, PRIORITY FROM QRTZ_TRIGGERS WHERE SCHED_NAME = 's' AND TRIGGER_STATE = 'WAITING' AND NEXT_FIRE_TIME <= 2000 AND (MISFIRE_INSTR = -1 OR (MISFIRE_INSTR != -1 AND NEXT_FIRE_TIME >= 500)) ORDER BY NEXT_FIRE_TIME ASC, PRIORITY DESC;
UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'ACQUIRED' WHERE SCHED_NAME = 's' AND TRIGGER_NAME = 't1' AND TRIGGER_GROUP = 'g' AND TRIGGER_STATE = 'WAITING' AND NEXT_FIRE_TIME = 1000;
SHOW CREATE TABLE QRTZ_TRIGGERS;
DROP TABLE QRTZ_TRIGGERS;

-- Doctrine Messenger
CREATE TABLE messenger_messages (id BIGINT AUTO_INCREMENT NOT NULL, body LONGTEXT NOT NULL, headers LONGTEXT NOT NULL, queue_name VARCHAR(190) NOT NULL, created_at DATETIME NOT NULL COMMENT '(DC2Type:datetime_immutable)', available_at DATETIME NOT NULL COMMENT '(DC2Type:datetime_immutable)', delivered_at DATETIME DEFAULT NULL COMMENT '(DC2Type:datetime_immutable)', INDEX IDX_75EA56E0FB7336F0 (queue_name), INDEX IDX_75EA56E0E3BD61CE (available_at), INDEX IDX_75EA56E016BA31DB (delivered_at), PRIMARY KEY(id)) DEFAULT CHARACTER SET utf8mb4 COLLATE `utf8mb4_unicode_ci` ENGINE = InnoDB;
INSERT INTO messenger_messages (body, headers, queue_name, created_at, available_at) VALUES('{}', '[]', 'default', '2026-01-01 09:00:00', '2026-01-01 09:00:00');
START TRANSACTION;
SELECT m.* FROM messenger_messages m WHERE (m.queue_name = 'default') AND (m.delivered_at is null OR m.delivered_at < '2026-01-01 09:00:00') AND (m.available_at <= '2026-01-01 10:00:00') ORDER BY available_at ASC LIMIT 1 FOR UPDATE;
UPDATE messenger_messages SET delivered_at = '2026-01-01 10:00:00' WHERE id = 1;
COMMIT;
DELETE FROM messenger_messages WHERE delivered_at = '9999-12-31 23:59:59';
SELECT COUNT(m.id) AS message_count FROM messenger_messages m WHERE (m.delivered_at is null OR m.delivered_at < '2026-01-01 11:00:00') LIMIT 1;
ALTER TABLE messenger_messages DROP INDEX IDX_75EA56E0FB7336F0, ADD INDEX IDX_75EA (queue_name, available_at, delivered_at, id);
DROP TABLE messenger_messages;

-- Symfony Lock PdoStore / DoctrineDbalStore
CREATE TABLE lock_keys (key_id VARCHAR(64) NOT NULL PRIMARY KEY, key_token VARCHAR(44) NOT NULL, key_expiration INTEGER UNSIGNED NOT NULL) COLLATE utf8mb4_general_ci, ENGINE = InnoDB;
INSERT INTO lock_keys (key_id, key_token, key_expiration) VALUES ('id', 'tok', UNIX_TIMESTAMP(NOW(6)) + 300);
INSERT INTO lock_keys (key_id, key_token, key_expiration) VALUES ('id', 'tok', UNIX_TIMESTAMP(NOW(6)) + 300);
UPDATE lock_keys SET key_expiration = UNIX_TIMESTAMP(NOW(6)) + 300, key_token = 'tok2' WHERE key_id = 'id' AND (key_token = 'tok2' OR key_expiration <= UNIX_TIMESTAMP(NOW(6)));
SELECT 1 FROM lock_keys WHERE key_id = 'id' AND key_token = 'tok' AND key_expiration > UNIX_TIMESTAMP(NOW(6));
DELETE FROM lock_keys WHERE key_expiration < UNIX_TIMESTAMP(NOW(6)) - 1;
SELECT * FROM lock_keys;
DROP TABLE lock_keys;

-- delayed_job
CREATE TABLE `delayed_jobs` (`id` int(11) NOT NULL AUTO_INCREMENT, `priority` int(11) NOT NULL DEFAULT '0', `attempts` int(11) NOT NULL DEFAULT '0', `handler` text NOT NULL, `last_error` text, `run_at` datetime DEFAULT NULL, `locked_at` datetime DEFAULT NULL, `failed_at` datetime DEFAULT NULL, `locked_by` varchar(255) DEFAULT NULL, `queue` varchar(255) DEFAULT NULL, `created_at` datetime(6) DEFAULT NULL, `updated_at` datetime(6) DEFAULT NULL, PRIMARY KEY (`id`), KEY `delayed_jobs_priority` (`priority`,`run_at`)) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
SHOW CREATE TABLE delayed_jobs;
INSERT INTO `delayed_jobs` (`priority`, `attempts`, `handler`, `run_at`, `created_at`, `updated_at`) VALUES (0, 0, '--- !ruby/object:X\nid: 1\n', '2026-01-01 09:59:00', '2026-01-01 09:59:00.123456', '2026-01-01 09:59:00.123456');
UPDATE `delayed_jobs` SET `delayed_jobs`.`locked_at` = '2026-01-01 10:00:00', `delayed_jobs`.`locked_by` = 'host:a pid:1' WHERE ((run_at <= '2026-01-01 10:00:00' AND (locked_at IS NULL OR locked_at < '2026-01-01 06:00:00') OR locked_by = 'host:a pid:1') AND failed_at IS NULL) ORDER BY priority ASC, run_at ASC LIMIT 1;
SELECT `delayed_jobs`.* FROM `delayed_jobs` WHERE `delayed_jobs`.`locked_at` = '2026-01-01 10:00:00' AND `delayed_jobs`.`locked_by` = 'host:a pid:1' AND `delayed_jobs`.`failed_at` IS NULL ORDER BY `delayed_jobs`.`id` ASC LIMIT 1;
UPDATE `delayed_jobs` SET locked_by = null, locked_at = null WHERE `delayed_jobs`.`locked_by` = 'host:a pid:1';
DELETE FROM `delayed_jobs` WHERE `delayed_jobs`.`id` = 3;
DROP TABLE delayed_jobs;

-- Rails: advisory locks, schema, counters
SELECT GET_LOCK('5938249102938471', 0);
SELECT RELEASE_LOCK('5938249102938471');
SELECT GET_LOCK(CONCAT('app:', 'job', ':', 42), 0) AS acquired;
SELECT IS_USED_LOCK('app:job:42') = CONNECTION_ID() AS mine, IS_FREE_LOCK('app:job:43') AS free;
SELECT IS_USED_LOCK('nope');
SELECT RELEASE_ALL_LOCKS();
CREATE TABLE `schema_migrations` (`version` varchar(255) NOT NULL PRIMARY KEY);
CREATE TABLE `ar_internal_metadata` (`key` varchar(255) NOT NULL PRIMARY KEY, `value` varchar(255), `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL);
INSERT INTO `schema_migrations` (version) VALUES ('20260101000000'), ('20260101000001');
SELECT `schema_migrations`.`version` FROM `schema_migrations` ORDER BY `schema_migrations`.`version` ASC;
CREATE TABLE `posts` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `comments_count` int DEFAULT 0, `title` varchar(255) DEFAULT 'x' NOT NULL, `lock_version` int);
INSERT INTO posts (title) VALUES ('a');
UPDATE `posts` SET `posts`.`comments_count` = COALESCE(`posts`.`comments_count`, 0) + 1 WHERE `posts`.`id` = 1;
UPDATE `posts` SET `posts`.`title` = 'b', `posts`.`lock_version` = 1 WHERE `posts`.`id` = 1 AND `posts`.`lock_version` IS NULL;
INSERT INTO `posts` (`id`,`title`) VALUES (1, 'c') ON DUPLICATE KEY UPDATE `title`=VALUES(`title`);
INSERT IGNORE INTO `posts` (`id`,`title`) VALUES (1, 'c');
SELECT `posts`.* FROM `posts` WHERE `posts`.`id` = 1 LIMIT 1 LOCK IN SHARE MODE;
SELECT COUNT(*) FROM (SELECT 1 AS one FROM `posts` LIMIT 1) subquery_for_count;
SELECT DISTINCT `posts`.`id` FROM `posts` ORDER BY `posts`.`id` ASC LIMIT 1 OFFSET 0;
DROP TABLE posts, ar_internal_metadata, schema_migrations;

-- sequences by LAST_INSERT_ID
CREATE TABLE sequence (name VARCHAR(20) NOT NULL PRIMARY KEY, id INT NOT NULL);
INSERT INTO sequence VALUES ('orders', 0);
UPDATE sequence SET id = LAST_INSERT_ID(id + 1) WHERE name = 'orders';
SELECT LAST_INSERT_ID();
INSERT INTO sequence (name, id) VALUES ('orders', LAST_INSERT_ID(1)) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id + 1);
SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity, ROW_COUNT();
DROP TABLE sequence;

-- leases and leader election
CREATE TABLE IF NOT EXISTS leader_election (
  anchor tinyint(3) unsigned NOT NULL,
  master_id varchar(128) NOT NULL,
  last_seen_active timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (anchor)
) ENGINE=InnoDB;
INSERT IGNORE INTO leader_election (anchor, master_id, last_seen_active) VALUES (1, 'a', NOW()) ON DUPLICATE KEY UPDATE master_id = IF(last_seen_active < NOW() - INTERVAL 5 SECOND, VALUES(master_id), master_id), last_seen_active = IF(master_id = VALUES(master_id), VALUES(last_seen_active), last_seen_active);
INSERT IGNORE INTO leader_election (anchor, master_id, last_seen_active) VALUES (1, 'b', NOW()) ON DUPLICATE KEY UPDATE master_id = IF(last_seen_active < NOW() - INTERVAL 5 SECOND, VALUES(master_id), master_id), last_seen_active = IF(master_id = VALUES(master_id), VALUES(last_seen_active), last_seen_active);
SELECT COUNT(*) AS is_leader FROM leader_election WHERE anchor = 1 AND master_id = 'a';
SELECT master_id, TIMESTAMPDIFF(SECOND, last_seen_active, NOW()) AS age, UNIX_TIMESTAMP(last_seen_active) AS seen FROM leader_election WHERE anchor = 1;
SELECT MAX(master_id) FROM leader_election WHERE last_seen_active >= NOW() - INTERVAL 5 SECOND;
SHOW CREATE TABLE leader_election;
DROP TABLE leader_election;

-- connectors
SET character_set_results = NULL;
SET sql_mode='STRICT_TRANS_TABLES', autocommit=1;
SET SESSION sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', SESSION sql_auto_is_null = 0;
set names utf8mb4, @a = 1;
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci, autocommit = 1;
SET @@SESSION.autocommit = OFF;
SET AUTOCOMMIT = 1;
SET SESSION TRANSACTION READ WRITE;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1;
SELECT CAST('test unicode returns' AS CHAR(60)) AS anon_1, CONCAT('a', 1), 1 + 1;
SELECT 1;
SELECT 1 FROM DUAL;
DO 1;
SELECT NOW(), NOW(6), CURRENT_TIMESTAMP, CURRENT_TIMESTAMP(3), LOCALTIME(), UTC_TIMESTAMP(), SYSDATE() IS NOT NULL;
SELECT UNIX_TIMESTAMP(NOW(6)), UNIX_TIMESTAMP(NOW(3)) * 1000, FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000), ROUND(UNIX_TIMESTAMP(NOW(4)) * 1000), CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED);
SELECT DATE_ADD(NOW(), INTERVAL 30 SECOND), DATE_SUB(NOW(6), INTERVAL 1 HOUR), NOW() + INTERVAL 1 DAY, NOW() - INTERVAL 10 MINUTE, TIMESTAMPADD(SECOND, -5, NOW(3)), DATE_ADD('2026-01-31', INTERVAL 1 MONTH), NOW() + INTERVAL 1.5 SECOND, NOW() + INTERVAL '1' SECOND;
SELECT TIMESTAMPDIFF(MICROSECOND, NOW(), NOW(3)), TIMESTAMPDIFF(MINUTE, '2026-01-01', NOW()), TIMESTAMPDIFF(DAY, '2025-12-01', NOW()), TIMESTAMPDIFF(MONTH, '2025-11-15', NOW()), TIMESTAMPDIFF(SECOND, NOW(), NULL);
SELECT NOW() + 0, NOW(3) + 0;

-- Liquibase
CREATE TABLE test.DATABASECHANGELOGLOCK (ID INT NOT NULL, `LOCKED` TINYINT NOT NULL, LOCKGRANTED datetime NULL, LOCKEDBY VARCHAR(255) NULL, CONSTRAINT PK_DATABASECHANGELOGLOCK PRIMARY KEY (ID));
DELETE FROM test.DATABASECHANGELOGLOCK;
INSERT INTO test.DATABASECHANGELOGLOCK (ID, `LOCKED`) VALUES (1, 0);
SELECT COUNT(*) FROM test.DATABASECHANGELOGLOCK;
SELECT `LOCKED` FROM test.DATABASECHANGELOGLOCK WHERE ID=1;
UPDATE test.DATABASECHANGELOGLOCK SET `LOCKED` = 1, LOCKEDBY = 'host (10.0.0.1)', LOCKGRANTED = NOW() WHERE ID = 1 AND `LOCKED` = 0;
SELECT ID,`LOCKED`,LOCKGRANTED,LOCKEDBY FROM test.DATABASECHANGELOGLOCK WHERE `LOCKED` = 1;
UPDATE test.DATABASECHANGELOGLOCK SET `LOCKED` = 0, LOCKEDBY = NULL, LOCKGRANTED = NULL WHERE ID = 1;
DROP TABLE test.DATABASECHANGELOGLOCK;

-- Flyway, golang-migrate, Prisma, Alembic, Knex
SELECT GET_LOCK('Flyway--1234567', 10);
SELECT RELEASE_LOCK('Flyway--1234567');
CREATE TABLE IF NOT EXISTS `schema_migrations` (version bigint not null primary key, dirty boolean not null);
SELECT version, dirty FROM `schema_migrations` LIMIT 1;
TRUNCATE `schema_migrations`;
INSERT INTO `schema_migrations` (version, dirty) VALUES (1, TRUE);
DROP TABLE IF EXISTS `schema_migrations` CASCADE;
create table if not exists `knex_migrations_lock` (`index` int unsigned not null auto_increment primary key, `is_locked` int);
update `knex_migrations_lock` set `is_locked` = 1 where `is_locked` = 0;
insert into `knex_migrations_lock` (`is_locked`) values (0);
update `knex_migrations_lock` set `is_locked` = 1 where `is_locked` = 0;
select * from `knex_migrations_lock` where `is_locked` = 1 for update;
drop table knex_migrations_lock;

-- Sequelize
CREATE TABLE IF NOT EXISTS `Jobs` (`id` INTEGER NOT NULL auto_increment , `name` VARCHAR(255) NOT NULL, `status` TINYINT, `createdAt` DATETIME NOT NULL, `updatedAt` DATETIME NOT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `Jobs` (`id`,`name`,`status`,`createdAt`,`updatedAt`) VALUES (DEFAULT,'a',true,'2026-01-01 10:00:00','2026-01-01 10:00:00');
START TRANSACTION;
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SELECT `id`, `name`, `status`, `createdAt`, `updatedAt` FROM `Jobs` AS `Job` WHERE `Job`.`status` = true LIMIT 1 FOR UPDATE SKIP LOCKED;
UPDATE `Jobs` SET `status`=false,`updatedAt`='2026-01-01 10:00:01' WHERE `id` = 1;
SAVEPOINT `abc-sp-1`;
ROLLBACK TO SAVEPOINT `abc-sp-1`;
ROLLBACK TO `abc-sp-1`;
RELEASE SAVEPOINT `abc-sp-1`;
ROLLBACK TO SAVEPOINT `abc-sp-1`;
COMMIT;
SELECT count(*) AS `count` FROM `Jobs` AS `Job` WHERE `Job`.`name` LIKE '%a%' AND (`Job`.`status` = false OR `Job`.`status` IS NULL);
DROP TABLE IF EXISTS `Jobs`;

-- Hibernate
create table hibernate_sequence (next_val bigint) engine=InnoDB;
insert into hibernate_sequence values ( 1 );
select next_val as id_val from hibernate_sequence for update;
update hibernate_sequence set next_val= 51 where next_val=1;
create table item (id bigint not null, version integer not null, name varchar(255), price decimal(19,2), created timestamp(6) default current_timestamp(6) on update current_timestamp(6), primary key (id)) engine=InnoDB;
alter table item add constraint UK_name unique (name);
insert into item (name,price,version,id) values ('a',1.5,0,1);
select i1_0.id,i1_0.name,i1_0.price,i1_0.version from item i1_0 where i1_0.id=1 for update;
select i1_0.id,i1_0.version from item i1_0 where i1_0.id=1 for update nowait;
update item set name='b',price=2.50,version=1 where id=1 and version=0;
update item set name='b',price=2.50,version=1 where id=1 and version=0;
update item i set i.price = i.price * 1.1, i.version = i.version + 1 where i.name like 'b%';
delete from item where id=1 and version=1;
select * from item;
select id, created = now(6) from item;
insert into item (id, version, name) select id + 1, 0, concat(name, '2') from item where id = 1;
select count(*), sum(price), avg(price), min(price), max(price) from item;
drop table item, hibernate_sequence;

-- Django
CREATE TABLE `django_content` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(255) NOT NULL, `qty` integer UNSIGNED NOT NULL CHECK (`qty` >= 0), `at` datetime(6) NOT NULL);
INSERT INTO `django_content` (`name`, `qty`, `at`) VALUES ('a', 5, '2026-01-01 10:00:00.250000');
SAVEPOINT `s1_x1`;
SELECT `django_content`.`id`, `django_content`.`name`, `django_content`.`qty` FROM `django_content` WHERE `django_content`.`name` = 'a' ORDER BY `django_content`.`id` ASC LIMIT 1 FOR UPDATE SKIP LOCKED;
UPDATE `django_content` SET `qty` = (`django_content`.`qty` - 1) WHERE (`django_content`.`id` = 1 AND `django_content`.`qty` >= 1);
UPDATE `django_content` SET `qty` = (`django_content`.`qty` - 6) WHERE `django_content`.`id` = 1;
UPDATE `django_content` SET `qty` = CASE WHEN (`django_content`.`id` = 1) THEN 3 ELSE NULL END WHERE `django_content`.`id` IN (1, 2);
SELECT (1) AS `a` FROM `django_content` WHERE `django_content`.`name` = 'a' LIMIT 1;
SELECT EXISTS(SELECT 1 AS `a` FROM `django_content` WHERE `django_content`.`qty` > 1 LIMIT 1) AS x;
SELECT COUNT(*) AS `__count` FROM `django_content`;
SELECT COUNT(CASE WHEN `django_content`.`qty` > 1 THEN `django_content`.`id` ELSE NULL END) AS `n` FROM `django_content`;
SET foreign_key_checks=0;
DELETE FROM `django_content` WHERE `django_content`.`id` IN (1);
SET foreign_key_checks=1;
DROP TABLE `django_content` CASCADE;

-- others
SHOW VARIABLES LIKE 'innodb_lock_wait%';
SET innodb_lock_wait_timeout = 1;
SET SESSION innodb_lock_wait_timeout = 'x';
SET SESSION innodb_lock_wait_timeout = 1.5;
SET SESSION innodb_lock_wait_timeout = DEFAULT;
SELECT @@innodb_lock_wait_timeout;
SET SESSION TRANSACTION ISOLATION LEVEL SNAPSHOT;
-- A table of leases, and one of jobs
CREATE TABLE t1 (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, name VARCHAR(64) NOT NULL DEFAULT '', state TINYINT(1) NOT NULL DEFAULT '0' COMMENT 'x', PRIMARY KEY (id) USING BTREE, UNIQUE KEY uk (name) USING HASH COMMENT 'y') ENGINE=InnoDB STATS_PERSISTENT=0 AVG_ROW_LENGTH=10 STATS_AUTO_RECALC=DEFAULT STATS_SAMPLE_PAGES=5 CHECKSUM=1 DELAY_KEY_WRITE=1 PACK_KEYS=1;
CREATE TABLE t6 (id INT PRIMARY KEY) ENGINE InnoDB, COMMENT 'x' CHARSET utf8mb4;
CREATE TABLE locks (name VARCHAR(64) PRIMARY KEY, owner VARCHAR(64) NOT NULL, token BIGINT UNSIGNED NOT NULL DEFAULT 0, expires_at DATETIME(6) NOT NULL, created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), updated_at TIMESTAMP(6) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6), KEY expires (expires_at)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO locks (name, owner, token, expires_at) VALUES ('a', 'me', 1, NOW(6) + INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE owner = IF(expires_at < NOW(6), VALUES(owner), owner), token = IF(owner = VALUES(owner), token + 1, token), expires_at = IF(owner = VALUES(owner), VALUES(expires_at), expires_at);
INSERT INTO locks (name, owner, token, expires_at) VALUES ('a', 'you', 1, NOW(6) + INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE owner = IF(expires_at < NOW(6), VALUES(owner), owner), token = IF(owner = VALUES(owner), token + 1, token), expires_at = IF(owner = VALUES(owner), VALUES(expires_at), expires_at);
INSERT INTO locks (name, owner, token, expires_at) VALUES ('a', 'me', 1, NOW(6) + INTERVAL 60 SECOND) ON DUPLICATE KEY UPDATE owner = IF(expires_at < NOW(6), VALUES(owner), owner), token = IF(owner = VALUES(owner), token + 1, token), expires_at = IF(owner = VALUES(owner), VALUES(expires_at), expires_at);
SELECT ROW_COUNT();
SELECT name, owner, token, expires_at, updated_at FROM locks;
UPDATE locks SET expires_at = GREATEST(expires_at, NOW(6) + INTERVAL 90 SECOND) WHERE name = 'a' AND owner = 'me' AND expires_at > NOW(6);
UPDATE locks SET owner = 'you', token = LAST_INSERT_ID(token + 1), expires_at = TIMESTAMPADD(SECOND, 30, NOW(6)) WHERE name = 'a' AND expires_at <= NOW(6);
SELECT LAST_INSERT_ID(), ROW_COUNT();
UPDATE locks SET token = LAST_INSERT_ID(token + 1) WHERE name = 'a';
SELECT LAST_INSERT_ID(), ROW_COUNT();
DELETE FROM locks WHERE name = 'a' AND owner = 'nobody' LIMIT 1;
SELECT token INTO @token FROM locks WHERE name = 'a' FOR UPDATE;
UPDATE locks SET token = @token + 1 WHERE name = 'a' AND token = @token;
SELECT @token := token FROM locks WHERE name = 'a';
REPLACE INTO locks (name, owner, expires_at) VALUES ('a', 'you', '2026-01-01 10:01:00');
INSERT INTO locks SET name = 'b', owner = 'me', expires_at = DATE_ADD(NOW(6), INTERVAL 10 MINUTE);
INSERT IGNORE INTO locks (name, owner, expires_at) VALUES ('b', 'you', NOW(6)), ('c', 'you', NOW(6));
SELECT * FROM locks WHERE expires_at BETWEEN NOW(6) - INTERVAL 1 HOUR AND NOW(6) + INTERVAL 5 MINUTE ORDER BY name;
SELECT name, TIMESTAMPDIFF(MICROSECOND, NOW(6), expires_at) / 1000000 AS ttl, expires_at > NOW() AS alive FROM locks ORDER BY expires_at DESC, name ASC LIMIT 2;
SELECT COUNT(*) AS n, SUM(expires_at > NOW(6)) AS alive, MIN(expires_at), MAX(owner) FROM locks GROUP BY owner HAVING n > 1 ORDER BY NULL;
SELECT l.name FROM locks AS l LEFT JOIN locks AS o ON o.owner = l.owner AND o.name <> l.name WHERE o.name IS NULL FOR UPDATE;
SELECT name FROM locks WHERE name IN (SELECT name FROM locks WHERE owner = 'you') FOR UPDATE SKIP LOCKED;
UPDATE locks SET owner = 'x' WHERE name = (SELECT name FROM (SELECT name FROM locks ORDER BY expires_at LIMIT 1) AS first);
INSERT INTO locks (name, owner, expires_at) SELECT 'd', 'me', NOW(6) WHERE NOT EXISTS (SELECT 1 FROM locks WHERE name = 'd');
INSERT INTO locks (name, owner, expires_at) SELECT * FROM (SELECT 'd', 'me', NOW(6)) AS tmp WHERE NOT EXISTS (SELECT 1 FROM locks WHERE name = 'd') LIMIT 1;
DELETE FROM locks ORDER BY expires_at LIMIT 1;
SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1;
CREATE TABLE locks (id INT);
CREATE TABLE IF NOT EXISTS locks (id INT);
ALTER TABLE locks ADD COLUMN version INT NOT NULL DEFAULT 0 AFTER token, ADD UNIQUE INDEX owner_version (owner, version);
ALTER TABLE locks ADD COLUMN version INT;
ALTER TABLE locks DROP PRIMARY KEY;
ALTER TABLE locks ADD PRIMARY KEY (name);
ALTER TABLE locks MODIFY COLUMN owner VARCHAR(100) NULL;
SHOW CREATE TABLE locks;
TRUNCATE TABLE locks;
SELECT x.`n`, `x`.`n` `m` FROM (SELECT 1 n) x;
DROP TABLE locks, t1, t6;
CREATE TABLE jobs2 (id INT AUTO_INCREMENT PRIMARY KEY, queue VARCHAR(32) NOT NULL, run_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, attempts INT UNSIGNED NOT NULL DEFAULT 0, locked_by INT NULL, INDEX pick (queue, run_at, id), CONSTRAINT one CHECK (attempts <= 25));
INSERT INTO jobs2 (queue) VALUES ('q'), ('q'), ('p');
SELECT LAST_INSERT_ID();
SET @picked = NULL;
UPDATE jobs2 SET locked_by = 7, attempts = attempts + 1, id = (@picked := id) WHERE queue = 'q' AND locked_by IS NULL ORDER BY run_at, id LIMIT 1;
SELECT @picked;
UPDATE jobs2 SET locked_by = 7, attempts = attempts + 1 WHERE id = LAST_INSERT_ID(2);
SELECT * FROM jobs2 WHERE id = LAST_INSERT_ID();
INSERT INTO jobs2 (id, queue) VALUES (1, 'z') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), attempts = attempts + 1;
SELECT LAST_INSERT_ID();
UPDATE jobs2 SET attempts = attempts - 5 WHERE id = 1;
UPDATE jobs2 SET attempts = GREATEST(CAST(attempts AS SIGNED) - 5, 0) WHERE id = 1;
UPDATE jobs2 SET attempts = 26 WHERE id = 1;
SELECT queue, id FROM jobs2 GROUP BY queue;
SELECT IF(1, 'a', 'b') LIMIT 1;
SELECT * FROM jobs2 LIMIT 1, 1;
SELECT * FROM jobs2 LIMIT -1;
SELECT * FROM jobs2 LIMIT '1';
SELECT * FROM jobs2 WHERE id = '1' AND queue = 0;
SELECT id FROM jobs2 WHERE queue LIKE 'q%' ESCAPE '!' ORDER BY 1 DESC;
DROP TABLE jobs2;

-- Variables that take what a query finds
CREATE TABLE v (id INT PRIMARY KEY, n INT, d DECIMAL(8,2), at DATETIME(3));
INSERT INTO v VALUES (1, 5, 1.50, NOW(3)), (2, 6, NULL, NOW(3));
SELECT n INTO @n FROM v WHERE id = 1 FOR UPDATE;
SELECT @n, ROW_COUNT(), @@warning_count;
UPDATE v SET n = @n - 1 WHERE id = 1 AND n = @n;
SELECT n, d, at FROM v WHERE id = 1 LIMIT 1 INTO @n, @d, @at;
SELECT @n, @d, @at, @at + 0, @at < NOW(3), @at = NOW(3);
SELECT n FROM v WHERE id = 1 FOR UPDATE INTO @n;
SELECT n INTO @n FROM v WHERE id = 9;
SHOW WARNINGS;
SELECT @n, ROW_COUNT();
SELECT id, n INTO @a, @b FROM v ORDER BY id DESC;
SHOW WARNINGS;
SELECT @a, @b;
SELECT ROW_COUNT();
SELECT * INTO @a FROM v WHERE id = 1;
SELECT id INTO @a, @b FROM v WHERE nope = 1;
SELECT nope INTO @a, @b FROM v;
SELECT 1 INTO x;
SELECT COUNT(*), MAX(d), NULL, 'x' INTO @a, @b, @c, @e FROM v;
SELECT @a, @b, @c, @e;
SELECT @a := 7 INTO @b;
SELECT @a, @b;
SELECT id INTO @a FROM v LIMIT 0;
SELECT DISTINCT 1 INTO @a FROM v;
SELECT (SELECT id FROM v INTO @b);
SET @at = NOW(3);
SELECT @at, @at + 0;
SELECT v.*, test.v.id, test.v.n + 1 FROM test.v ORDER BY test.v.id;
SELECT nope.v.id FROM v;
SELECT id FROM v WHERE nope.v.id = 1;
DROP TABLE v;

-- Databases, variables, and transactions that only read
USE test;
USE nope;
CREATE TABLE nope.t (id INT);
SHOW TABLES FROM test LIKE 'cache%';
SHOW TABLES FROM nope;
SELECT @@GLOBAL.autocommit, @@SESSION.autocommit, @@local.autocommit, @@global.innodb_lock_wait_timeout;
SELECT @@global.warning_count;
SELECT @@session.version;
SELECT @@global.nope;
SHOW GLOBAL VARIABLES LIKE 'innodb_lock_wait_timeout';
SHOW VARIABLES LIKE 'foreign_key_checks';
SHOW VARIABLES LIKE 'sql_auto_is_null';
SET lower_case_table_names = 0;
SET innodb_deadlock_detect = OFF;
SET version = 1;
SET SESSION innodb_lock_wait_timeout = 'x';
CREATE TABLE r (id INT PRIMARY KEY);
SET SESSION TRANSACTION READ ONLY;
INSERT INTO r VALUES (1);
START TRANSACTION READ WRITE;
INSERT INTO r VALUES (1);
COMMIT;
SET SESSION TRANSACTION READ WRITE;
SET TRANSACTION READ ONLY;
BEGIN;
INSERT INTO r VALUES (2);
COMMIT;
INSERT INTO r VALUES (2);
SELECT * FROM r ORDER BY id;
SELECT id "q", id 'p', id AS 'r' FROM r ORDER BY id COLLATE utf8mb4_general_ci;
DROP TABLE r;
SELECT NOW() + INTERVAL 1.5 SECOND, NOW() + INTERVAL '1' SECOND, NOW(3) + INTERVAL 0.25 SECOND, NOW() + INTERVAL 2e0 SECOND, NOW() - INTERVAL 0.5 SECOND, NOW() + INTERVAL 1.5 MINUTE, NOW() + INTERVAL -1.5 SECOND, NOW() + INTERVAL '0.001' SECOND;
SELECT '2026-01-01 10:00:00' + INTERVAL 1.5 SECOND, '2026-01-01 10:00:00' + INTERVAL '5' SECOND, DATE_ADD('2026-01-01', INTERVAL 0.5 SECOND);

DROP TABLE accounts, QRTZ_LOCKS, cache_locks, scheduled_tasks, shedlock, solid_queue_ready_executions;
