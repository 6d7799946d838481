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
        $this->assertSame(0, $this->operator->redis->exists(self::KEYS), 'Redis has its keys already');
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
        $this->operator->redis->del(self::KEYS);
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
    public ?Redis $redis = null;
%end
%if database
    public ?PDO $mysql = null;
%end
%if routines
    private ?Generator $protocol = null;
    private mixed $reply = null;
%end

    public function __construct(private string $name, public array &$seen)
    {
        $this->connect();
    }

    /** Opens connections of its own. */
    public function connect(): void
    {
%if store
        $this->redis = new Redis();
        $this->redis->connect(getenv('REDIS_HOST') ?: '127.0.0.1', (int) (getenv('REDIS_PORT') ?: 6379));
        if (getenv('REDIS_PASSWORD')) {
            $this->redis->auth(getenv('REDIS_PASSWORD'));
        }
        $this->redis->select((int) getenv('REDIS_DB'));
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

    /** Closes them, as a crash would; what is not committed is rolled back. */
    public function close(): void
    {
%if store
        $this->redis?->close();
        $this->redis = null;
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
            $this->reply = $this->note($this->protocol->key(), $this->protocol->current());
        }
    }
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
        TestCase::assertSame($label, $this->protocol->key());
        $this->reply = $this->note($label, $this->protocol->current());
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
            $this->redis->clearLastError();
%end
            $reply = $request();
%if store
            $error = $this->redis->getLastError();
            if ($error !== null) {
                throw new RuntimeException($error);
            }
%end
        } catch (Throwable $error) {
            $reply = $error;
        }
        $this->seen[] = [$this->name, $what, self::errorCode($reply) ?? $reply];

        return $reply;
    }

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
