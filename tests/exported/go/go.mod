module exported

go 1.19

require (
	github.com/go-sql-driver/mysql v1.7.0
	github.com/redis/go-redis/v9 v9.0.0
)

replace github.com/go-sql-driver/mysql => /usr/share/gocode/src/github.com/go-sql-driver/mysql

replace github.com/redis/go-redis/v9 => ./redis
