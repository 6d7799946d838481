<?php

%title
%header

declare(strict_types=1);

namespace Tests\{{namespace}};

use Fiber;
%if routines
use Generator;
%end
%if database
use PDO;
use PDOException;
%end
use PHPUnit\Framework\TestCase;
%if store
use Redis;
%end
%if runtime
use RuntimeException;
%end
use Throwable;

final class {{class}} extends TestCase
{
    %scripts
    %settings

    private ?Client $operator = null;
    private bool $isSetUp = false;
    %routines

    public function test{{namespace}}(): void
    {
        $operator = $this->operator;
        $seen = &$operator->seen;
%if gateway
        $gateway = new Gateway();
%end
%if sells
        $sales = [];
%end
%if left
        $left = [];
%end
%if deadlines
        $timesToLive = [];
%end
        %latches
        %parts

        %together
%if !holds

        %seen
        %end_state
%end
        %claims
%if holds !claims

        $this->assertNotEmpty($seen);
%end
    }

    /** Sets everything up; what is there already is left alone. */
    protected function setUp(): void
    {
        $seen = [];
        $this->operator = new Client('operator', $seen);
%if keys
%each
        $this->assertSame(0, $this->operator->{{server}}->exists(self::KEYS), 'Redis has its keys already');
%end
%end
%if tables
        $tables = array_merge([], ...$this->operator->rows('SHOW TABLES'));
        $this->assertSame([], array_intersect(self::TABLES, $tables), 'the database has its tables already');
%end
        $this->isSetUp = true;
%if statements
        foreach (self::STATEMENTS as $statement) {
            $this->operator->affectedRows($statement);
        }
%end
        %commands
    }

    /** Takes away what the test has made. */
    protected function tearDown(): void
    {
        if (!$this->isSetUp) {
            return;
        }
%if tables
        foreach (self::TABLES as $table) {
            $this->operator->affectedRows("DROP TABLE IF EXISTS `{$table}`");
        }
%end
%if keys
%each
        $this->operator->{{server}}->del(self::KEYS);
%end
%end
        $this->operator->close();
    }

    /** Runs each part as a fiber of its own; whoever waits for a latch lets the others go on. */
    private function runTogether(callable ...$parts): void
    {
        $fibers = array_map(fn (callable $part) => new Fiber($part), $parts);
        array_walk($fibers, fn (Fiber $fiber) => $fiber->start());
        for ($rounds = 0; $rounds < 1000 && $fibers !== []; $rounds++) {
            $fibers = array_filter($fibers, fn (Fiber $fiber) => !$fiber->isTerminated());
            array_walk($fibers, fn (Fiber $fiber) => $fiber->resume());
        }
        $this->assertSame([], $fibers, 'somebody waits for a latch that nobody opens');
    }
%if loose

    /** What was seen, where it is within a second of what is expected. */
    private function near(int $expected, mixed $seen): mixed
    {
        return is_int($seen) && abs($seen - $expected) <= 1000 ? $seen : $expected;
    }
%end
}

/** Somebody with connections of their own; whatever they are told is noted. */
final class Client
{
%if store
%each
    public ?Redis ${{server}} = null;
%end
%end
%if listens
    public ?Inbox $inbox = null;
%end
%if clock
    public Clock $clock;
%end
%if database
    public ?PDO $mysql = null;
%end
%if routines
    private ?Generator $protocol = null;
    private mixed $reply = null;
%end
%if delays
    private array $underWay = [];
%end
%if starts
    private ?string $what = null;
    private ?Answer $answer = null;
    private int $number = 0;
%end

    public function __construct(private string $name, public array &$seen)
    {
%if clock
        $this->clock = new Clock();
%end
        $this->connect();
    }

    /** Opens connections of its own. */
    public function connect(): void
    {
%if store !several
        $this->redis = new Redis();
        $this->redis->connect(getenv('REDIS_HOST') ?: '127.0.0.1', (int) (getenv('REDIS_PORT') ?: 6379));
        if (getenv('REDIS_PASSWORD')) {
            $this->redis->auth(getenv('REDIS_PASSWORD'));
        }
        $this->redis->select((int) getenv('REDIS_DB'));
%end
%if store several
%each
        $this->{{server}} = $this->connectToRedis('{{suffix}}', '{{place}}');
%end
%end
%if listens
        $this->inbox = new Inbox();
%end
%if database
        $host = getenv('DB_HOST') ?: '127.0.0.1';
        $port = getenv('DB_PORT') ?: '3306';
        $database = getenv('DB_DATABASE') ?: 'test';
        $this->mysql = new PDO(
            "mysql:host={$host};port={$port};dbname={$database};charset=utf8mb4",
            getenv('DB_USERNAME') ?: 'root',
            getenv('DB_PASSWORD') ?: '',
%if found_rows
            [PDO::MYSQL_ATTR_FOUND_ROWS => true],
%end
        );
%end
    }

%if store several
    /** A connection to the server that the variables with this behind their names say. */
    private function connectToRedis(string $suffix, string $database): Redis
    {
        $settings = getenv();
        $setting = fn (string $name, string $usual): string => $settings["REDIS_{$name}{$suffix}"] ?? $usual;
        $redis = new Redis();
        $redis->connect($setting('HOST', '127.0.0.1'), (int) $setting('PORT', '6379'));
        if ($setting('PASSWORD', '') !== '') {
            $redis->auth($setting('PASSWORD', ''));
        }
        $redis->select((int) $setting('DB', $database));

        return $redis;
    }

%end
    /** Closes them, as a crash would; what is not committed is rolled back. */
    public function close(): void
    {
%if starts
        $this->answer = null;
%end
%if store
%each
        $this->{{server}}?->close();
        $this->{{server}} = null;
%end
%end
%if listens
        $this->inbox = null;
%end
%if database
        $this->mysql = null;
%end
    }
%if routines

    /** Begins an attempt, and has its first request ready. */
    public function runs(Generator $protocol): void
    {
        $this->protocol = $protocol;
%if clock
        $this->clock->clear();
%end
        $protocol->rewind();
    }

%if holds
    /** Sends the next request, if there is one, and sees the reply. */
    public function step(): void
    {
        $this->sends();
        $this->seesTheReply();
    }

    /** Sends the next request, if there is one; the reply waits. */
    public function sends(): void
    {
        if ($this->protocol->valid()) {
%if clock
            $this->clock->sent = $this->clock->now;
%end
            $this->reply = $this->note($this->protocol->key(), $this->protocol->current());
        }
    }
%if loses

    /** The next request gets lost. */
    public function loses(): void
    {
%if clock
        $this->clock->sent = $this->clock->now;
%end
        $this->reply = null;
    }
%end
%if delays

    /** The next request stays under way. */
    public function delays(): void
    {
%if clock
        $this->clock->sent = $this->clock->now;
%end
        $this->underWay = [$this->protocol->key(), $this->protocol->current()];
    }
%end
%if finds_down

    /** The next request finds its server down. */
    public function findsItDown(): void
    {
        $this->loses();
        $this->givesUp();
    }
%end
%end
%if !holds
    /** Sends the next request, which has to be this one, and sees the reply. */
    public function step(string $label): void
    {
        $this->sends($label);
        $this->seesTheReply();
    }

    /** Sends the next request, which has to be this one; the reply waits. */
    public function sends(string $label): void
    {
        $this->expects($label);
        $this->reply = $this->note($label, $this->protocol->current());
    }

    /** The next request has to be this one. */
    private function expects(string $label): void
    {
        TestCase::assertSame($label, $this->protocol->key());
%if clock
        $this->clock->sent = $this->clock->now;
%end
    }
%if loses

    /** The next request, which has to be this one, gets lost. */
    public function loses(string $label): void
    {
        $this->expects($label);
    }
%end
%if delays

    /** The next request, which has to be this one, stays under way. */
    public function delays(string $label): void
    {
        $this->expects($label);
        $this->underWay = [$label, $this->protocol->current()];
    }
%end
%if finds_down

    /** The next request, which has to be this one, finds its server down. */
    public function findsItDown(string $label): void
    {
        $this->loses($label);
        $this->givesUp();
    }
%end
%end
%if delivers

    /** What has been under way comes to its server; the reply waits. */
    public function delivers(): void
    {
        $this->reply = $this->note(...$this->underWay);
    }
%end
%if waits

    /** The next request, which has to be this one, waits: no message has come. */
    public function waitsForAMessage(string $label, string $channel): void
    {
        $this->expects($label);
        TestCase::assertTrue($this->inbox->isEmpty($channel));
    }
%end
%if told holds

    /** The next request is answered by the schedule. */
    public function isTold(mixed $reply): void
    {
        $this->reply = $reply;
        $this->seesTheReply();
    }
%end
%if told !holds

    /** The next request, which has to be this one, is answered by the schedule. */
    public function isTold(string $label, mixed $reply): void
    {
        $this->expects($label);
        $this->reply = $reply;
        $this->seesTheReply();
    }
%end
%if gives_up

    /** Waits no longer for the reply. */
    public function givesUp(): void
    {
        $this->reply = new NoReply();
        $this->seesTheReply();
    }
%end

    /** Hands the reply to the protocol, which has its next request ready then. */
    public function seesTheReply(): void
    {
%if holds
        if (!$this->protocol->valid()) {
            return;
        }
%end
        if (!$this->reply instanceof Throwable) {
            $this->protocol->send($this->reply);
            return;
        }
        try {
            $this->protocol->throw($this->reply);
        } catch (Throwable $error) {
            TestCase::assertSame($this->reply, $error);
        }
    }
%end

    /** Sends a request, and notes the reply. */
    public function note(string $what, callable $request): mixed
    {
        try {
%if store
            $reply = $this->replyTo($request);
%end
%if !store
            $reply = $request();
%end
        } catch (Throwable $error) {
            $reply = $error;
        }
        $this->seen[] = [$this->name, $what, self::errorCode($reply) ?? $reply];

        return $reply;
    }
%if store

    /** Sends a request; what Redis refuses is thrown. */
    private function replyTo(callable $request): mixed
    {
%each
        $this->{{server}}->clearLastError();
%end
        $reply = $request();
%if !several
        $error = $this->redis->getLastError();
%end
%if several
        $error = null;
%each
        $error ??= $this->{{server}}->getLastError();
%end
%end

        return $error === null ? $reply : throw new RuntimeException($error);
    }
%end
%if starts_steps holds

    /** Sends the next request, if there is one, which may have to wait. */
    public function starts(string $server): void
    {
        if ($this->protocol->valid()) {
%if clock
            $this->clock->sent = $this->clock->now;
%end
            $this->startsAsking($this->protocol->key(), $server, $this->protocol->current());
        }
    }
%end
%if starts_steps !holds

    /** Sends the next request, which has to be this one, and waits for somebody else. */
    public function starts(string $label, string $server): void
    {
        $this->expects($label);
        $this->startsAsking($label, $server, $this->protocol->current());
    }
%end
%if starts

    /** Sends a request from a process of its own, and sees that it waits. */
    public function startsAsking(string $what, string $server, callable $request): void
    {
        $this->number = $this->connectionNumber($server);
        $this->what = $what;
%if store
        $this->answer = new Answer(fn () => $this->replyTo($request));
%end
%if !store
        $this->answer = new Answer($request);
%end
        $seen = [];
        $observer = new Client('observer', $seen);
        $deadline = microtime(true) + 10;
%if holds
        while (!$this->answer->isThere(0.05) && !$observer->seesWaiting($server, $this->number)) {
%end
%if !holds
        while (!$observer->seesWaiting($server, $this->number)) {
            TestCase::assertFalse($this->answer->isThere(0.05), "{$what} does not wait");
%end
            TestCase::assertLessThan($deadline, microtime(true), "{$what} neither waits nor ends");
        }
        $observer->close();
    }

    /** By what a server knows this client's connection. */
    private function connectionNumber(string $server): int
    {
%if starts_in_mysql starts_in_redis
        return match ($server) {
            'mysql' => $this->value('SELECT CONNECTION_ID()'),
            default => $this->{$server}->rawCommand('CLIENT', 'ID'),
        };
%end
%if starts_in_mysql !starts_in_redis
        return $this->value('SELECT CONNECTION_ID()');
%end
%if starts_in_redis !starts_in_mysql
        return $this->{$server}->rawCommand('CLIENT', 'ID');
%end
    }

    /** Whether a server has a request of the connection with this number waiting. */
    private function seesWaiting(string $server, int $number): bool
    {
%if starts_in_redis starts_in_mysql
        if ($server !== 'mysql') {
            $client = $this->{$server}->rawCommand('CLIENT', 'LIST', 'ID', $number);

            return preg_match('/ flags=\S*b/', $client) === 1;
        }
%end
%if starts_in_redis !starts_in_mysql
        $client = $this->{$server}->rawCommand('CLIENT', 'LIST', 'ID', $number);

        return preg_match('/ flags=\S*b/', $client) === 1;
%end
%if starts_in_mysql
        $ofClient = 'SELECT state FROM information_schema.processlist WHERE id = :number';
        if ($this->value($ofClient, ['number' => $number]) === 'User lock') {
            return true;
        }
        $transactions = explode('---TRANSACTION', $this->row('SHOW ENGINE INNODB STATUS')[2]);
        $ofClient = array_filter($transactions, fn (string $text) => str_contains($text, "thread id {$number},"));

        return str_contains(implode($ofClient), 'LOCK WAIT');
%end
    }

    /** What has waited is answered; the reply is noted, and waits to be seen. */
    public function hears(): void
    {
%if holds
        if ($this->what === null) {
            return;
        }
%end
%if routines
        $this->reply = $this->note($this->what, fn () => $this->answer->get());
%end
%if !routines
        $this->note($this->what, fn () => $this->answer->get());
%end
        $this->answer = null;
        $this->what = null;
    }
%end
%if withdraws

    /** Waits no longer: the server gives the request up, and nobody hears of it. */
    public function withdraws(string $server): void
    {
%if holds
        if ($this->what === null) {
            return;
        }
%end
        $seen = [];
        $operator = new Client('operator', $seen);
%if starts_in_mysql starts_in_redis
        match ($server) {
            'mysql' => $operator->mysql->exec("KILL QUERY {$this->number}"),
            default => $operator->{$server}->rawCommand('CLIENT', 'UNBLOCK', $this->number, 'ERROR'),
        };
%end
%if starts_in_mysql !starts_in_redis
        $operator->{$server}->exec("KILL QUERY {$this->number}");
%end
%if starts_in_redis !starts_in_mysql
        $operator->{$server}->rawCommand('CLIENT', 'UNBLOCK', $this->number, 'ERROR');
%end
        $operator->close();
        $this->answer->isThere(10);
        $this->answer = null;
        $this->what = null;
    }
%end

    /** The replies that a client got to a step. */
    public function replies(string $client, string $step): array
    {
        $found = array_filter($this->seen, fn (array $seen) => $seen[0] === $client && $seen[1] === $step);

        return array_column($found, 2);
    }
%if database

    public function affectedRows(string $statement, array $values = []): int
    {
        $prepared = $this->mysql->prepare($statement);
        $prepared->execute($values);

        return $prepared->rowCount();
    }

    public function rows(string $query, array $values = []): array
    {
        $prepared = $this->mysql->prepare($query);
        $prepared->execute($values);

        return $prepared->fetchAll(PDO::FETCH_NUM);
    }

    /** The first row; false where there is none. */
    public function row(string $query, array $values = []): array|false
    {
        return $this->rows($query, $values)[0] ?? false;
    }

    /** The first value of the first row; false where there is none. */
    public function value(string $query, array $values = []): mixed
    {
        $row = $this->row($query, $values);

        return $row === false ? false : $row[0];
    }
%end

    /** The word or the number that names an error; null for a reply that is none. */
    public static function errorCode(mixed $reply): ?string
    {
%if database
        if ($reply instanceof PDOException) {
            return "ERROR {$reply->errorInfo[1]}";
        }
%end
        return $reply instanceof Throwable ? explode(' ', $reply->getMessage())[0] : null;
    }
}

%if listens
/** A client's subscriptions, on a connection of their own, and what has come; phpredis would wait in a loop of its own. */
final class Inbox
{
    /** @var resource */
    private $stream;
    private array $messages = [];

    public function __construct()
    {
        $host = getenv('REDIS_HOST') ?: '127.0.0.1';
        $port = getenv('REDIS_PORT') ?: '6379';
        $this->stream = stream_socket_client("tcp://{$host}:{$port}", $code, $error, 10);
        stream_set_timeout($this->stream, 10);
        if (getenv('REDIS_PASSWORD')) {
            $this->send('AUTH', getenv('REDIS_PASSWORD'));
            $this->read();
        }
    }

    /** Begins to listen; the reply as the server sends it. */
    public function subscribe(string $channel): array
    {
        $this->send('SUBSCRIBE', $channel);

        return $this->next('subscribe');
    }

    /** Ends it. */
    public function unsubscribe(string $channel): array
    {
        $this->send('UNSUBSCRIBE', $channel);

        return $this->next('unsubscribe');
    }

    /** The next message of a channel: one that has come, or the next to come. */
    public function message(string $channel): string
    {
        foreach ($this->messages as $place => [, $of, $text]) {
            if ($of === $channel) {
                unset($this->messages[$place]);

                return $text;
            }
        }
        $this->messages[] = $this->next('message');

        return $this->message($channel);
    }

    /** Whether no message of a channel has come. */
    public function isEmpty(string $channel): bool
    {
        // Whatever had come before the answer to this is read then.
        $this->send('PING');
        $this->next('pong');

        return !in_array($channel, array_column($this->messages, 1), true);
    }

    /** The next of this kind; messages before it are kept. */
    private function next(string $kind): array
    {
        while (($got = $this->read())[0] !== $kind) {
            $this->messages[] = $got;
        }

        return $got;
    }

    private function send(string ...$words): void
    {
        $words = array_map(fn (string $word) => '$' . strlen($word) . "\r\n{$word}\r\n", $words);
        fwrite($this->stream, '*' . count($words) . "\r\n" . implode($words));
    }

    private function read(): mixed
    {
        $line = rtrim((string) fgets($this->stream));
        TestCase::assertNotSame('', $line, 'nothing has come');
        $rest = substr($line, 1);

        return match ($line[0]) {
            '*' => array_map(fn () => $this->read(), range(1, (int) $rest)),
            '$' => substr(stream_get_contents($this->stream, (int) $rest + 2), 0, -2),
            ':' => (int) $rest,
            default => $rest,
        };
    }
}

%end
%if starts
/** The answer to a request that waits for somebody else: a process of its own sends it, over the connections of its client. */
final class Answer
{
    /** @var resource */
    private $stream;
    private int $process;

    public function __construct(callable $request)
    {
        [$this->stream, $stream] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        $this->process = pcntl_fork();
        if ($this->process === 0) {
            // Errors that hold the arguments of calls could not be handed over.
            ini_set('zend.exception_ignore_args', '1');
            try {
                $answer = $request();
            } catch (Throwable $error) {
                $answer = $error;
            }
            fwrite($stream, serialize($answer));
            // It does not come to its end, which would close the connections.
            posix_kill(posix_getpid(), SIGKILL);
        }
        fclose($stream);
    }

    public function __destruct()
    {
        posix_kill($this->process, SIGKILL);
        pcntl_waitpid($this->process, $status);
    }

    /** Whether it is there, or comes within so many seconds. */
    public function isThere(float $seconds): bool
    {
        $streams = [$this->stream];
        $none = null;

        return stream_select($streams, $none, $none, 0, (int) ($seconds * 1_000_000)) === 1;
    }

    /** What has been answered; an error is thrown. */
    public function get(): mixed
    {
        TestCase::assertTrue($this->isThere(10), 'nothing has come');
        $answer = unserialize(stream_get_contents($this->stream));

        return $answer instanceof Throwable ? throw $answer : $answer;
    }
}

%end
%if no_reply
/** What a client learns that has waited for a reply in vain. */
final class NoReply
{
}

%end
%if clock
/** A client's own clock, in milliseconds, and what the client keeps by it. */
final class Clock
{
    public int $now = 0;
    public int $sent = 0;
%if looks
    private array $until = [];
%end
%if votes
    private array $ballots = [];
%end

    /** Begins an attempt, which counts on no lock yet. */
    public function clear(): void
    {
%if looks
        $this->until = [];
%end
%if votes
        $this->ballots = [];
%end
    }

    /** The schedule says how far it goes. */
    public function passes(int $milliseconds): void
    {
        $this->now += $milliseconds;
    }
%if looks

    /** Counts on a lock for so long, from when the last request was sent. */
    public function holds(string $lock, int $milliseconds): void
    {
        $this->until[$lock] = $this->sent + $milliseconds;
    }

    /** Counts on a lock no longer. */
    public function forgets(string $lock): void
    {
        unset($this->until[$lock]);
    }

    /** Whether the time is over for which a lock can be counted on. */
    public function look(string $lock): string
    {
        return $this->now < ($this->until[$lock] ?? $this->now) ? 'held' : 'lapsed';
    }
%end
%if votes

    /** The last request was for a vote; the first one of them begins the lease. */
    public function asksFor(string $lock): void
    {
        $this->ballots[$lock] ??= ['began' => $this->sent, 'counted' => 0];
    }

    /** A server has granted the lock. */
    public function countsAVoteFor(string $lock): void
    {
        $this->ballots[$lock]['counted']++;
    }

    /** What is left of the lease; false where too few have voted, or it is over. */
    public function quorum(int $votes, string $lock, int $lease, int $drift): int|false
    {
        ['began' => $began, 'counted' => $counted] = $this->ballots[$lock] ?? ['began' => 0, 'counted' => 0];
        unset($this->ballots[$lock]);
        $left = $lease - ($this->now - $began) - $drift;

        return $counted >= $votes && $left > 0 ? $left : false;
    }
%end
}

%end
/** A latch: whoever waits for it goes on once it is open. */
final class Latch
{
    private bool $isOpen = false;

    public function open(): void
    {
        $this->isOpen = true;
    }

    public function wait(): void
    {
        while (!$this->isOpen) {
            Fiber::suspend();
        }
    }
}
%if gateway

/** A card gateway in memory; with a key that it knows it does not charge again. */
final class Gateway
{
    public array $charges = [];
    private array $names = [];

    /** Charges a card, and gives the charge's name. */
    public function charge(string $order, int $amount, ?string $key = null): string
    {
        if ($key !== null && isset($this->names[$key])) {
            return $this->names[$key];
        }
        $this->charges[] = ['order' => $order, 'amount' => $amount, 'refunded' => false];
        $name = 'ch-' . count($this->charges);
        if ($key !== null) {
            $this->names[$key] = $name;
        }

        return $name;
    }

    /** Gives a charge back, by its name or by that of its order. */
    public function refund(string $name): bool
    {
        foreach (array_reverse($this->charges, true) as $place => $charge) {
            $isMeant = in_array($name, [$charge['order'], 'ch-' . ($place + 1)], true);
            if ($isMeant && !$charge['refunded']) {
                $this->charges[$place]['refunded'] = true;

                return true;
            }
        }
        throw new RuntimeException("ERR nothing to refund for '{$name}'");
    }

    /** The orders that are paid, once for each charge. */
    public function paid(): array
    {
        return array_column(array_filter($this->charges, fn (array $charge) => !$charge['refunded']), 'order');
    }
}
%end
