// Package redis has as much of go-redis as the exported tests call, for machines where go-redis is not to be had: a client that
// sends commands as they are given, over one connection, and reads replies of RESP 2.
package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Nil is the reply that is nothing.
var Nil = errors.New("redis: nil")

// Error is an error that the server sent.
type Error interface {
	error
	RedisError()
}

type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// Options say where the server is.
type Options struct {
	Addr     string
	DB       int
	PoolSize int
	Protocol int
}

// ParseURL reads redis://HOST:PORT/DB.
func ParseURL(text string) (*Options, error) {
	address, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	db, _ := strconv.Atoi(strings.TrimPrefix(address.Path, "/"))
	return &Options{Addr: address.Host, DB: db}, nil
}

// Client is a connection.
type Client struct {
	options    *Options
	connection net.Conn
	reader     *bufio.Reader
}

// NewClient connects with the first command.
func NewClient(options *Options) *Client {
	return &Client{options: options}
}

// Cmd is a command that has been sent.
type Cmd struct {
	value any
	err   error
}

// Result is the reply.
func (c *Cmd) Result() (any, error) {
	return c.value, c.err
}

// Do sends a command.
func (c *Client) Do(_ context.Context, args ...any) *Cmd {
	if c.connection == nil {
		connection, err := net.Dial("tcp", c.options.Addr)
		if err != nil {
			return &Cmd{err: err}
		}
		c.connection, c.reader = connection, bufio.NewReader(connection)
		if _, err := c.ask([]any{"SELECT", c.options.DB}); err != nil {
			return &Cmd{err: err}
		}
	}
	value, err := c.ask(args)
	return &Cmd{value: value, err: err}
}

// Close closes the connection.
func (c *Client) Close() error {
	if c.connection == nil {
		return nil
	}
	return c.connection.Close()
}

func (c *Client) ask(args []any) (any, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(args))
	for _, arg := range args {
		word := fmt.Sprint(arg)
		fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(c.connection, out.String()); err != nil {
		return nil, err
	}
	return c.read()
}

func (c *Client) read() (any, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, serverError(rest)
	}
	number, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || kind == ':' {
		return number, err
	}
	if number < 0 {
		return nil, Nil
	}
	if kind == '$' {
		bytes := make([]byte, number+2)
		_, err := io.ReadFull(c.reader, bytes)
		return string(bytes[:number]), err
	}
	items := make([]any, number)
	for place := range items {
		item, err := c.read()
		var fromServer Error
		switch {
		case err == Nil:
		case errors.As(err, &fromServer):
			item = err
		case err != nil:
			return nil, err
		}
		items[place] = item
	}
	return items, nil
}
