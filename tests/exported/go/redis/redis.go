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
	"time"
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
	if err := c.connect(); err != nil {
		return &Cmd{err: err}
	}
	value, err := c.ask(args)
	return &Cmd{value: value, err: err}
}

func (c *Client) connect() error {
	if c.connection != nil {
		return nil
	}
	connection, err := net.Dial("tcp", c.options.Addr)
	if err != nil {
		return err
	}
	c.connection, c.reader = connection, bufio.NewReader(connection)
	_, err = c.ask([]any{"SELECT", c.options.DB})
	return err
}

// PubSub is a connection that subscribes to channels.
type PubSub struct {
	client *Client
}

// Subscription is what confirms that one has begun, or ended.
type Subscription struct {
	Kind    string
	Channel string
	Count   int
}

// Message is what somebody has published.
type Message struct {
	Channel string
	Payload string
}

// Pong is the reply to a PING.
type Pong struct {
	Payload string
}

// Subscribe begins to listen to channels on a connection of its own.
func (c *Client) Subscribe(ctx context.Context, channels ...string) *PubSub {
	pubsub := &PubSub{&Client{options: c.options}}
	// What goes wrong is seen by whoever receives.
	_ = pubsub.Subscribe(ctx, channels...)
	return pubsub
}

// Subscribe begins to listen to more channels.
func (p *PubSub) Subscribe(_ context.Context, channels ...string) error {
	return p.send("SUBSCRIBE", channels)
}

// Unsubscribe ends that.
func (p *PubSub) Unsubscribe(_ context.Context, channels ...string) error {
	return p.send("UNSUBSCRIBE", channels)
}

// Ping has the server answer with a Pong.
func (p *PubSub) Ping(_ context.Context, payload ...string) error {
	return p.send("PING", payload)
}

func (p *PubSub) send(name string, words []string) error {
	if err := p.client.connect(); err != nil {
		return err
	}
	args := []any{name}
	for _, word := range words {
		args = append(args, word)
	}
	return p.client.send(args)
}

// ReceiveTimeout gives the next confirmation, message or pong.
func (p *PubSub) ReceiveTimeout(_ context.Context, timeout time.Duration) (any, error) {
	if err := p.client.connection.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	got, err := p.client.read()
	if err != nil {
		return nil, err
	}
	items, isList := got.([]any)
	if !isList {
		return &Pong{fmt.Sprint(got)}, nil
	}
	switch kind := items[0].(string); kind {
	case "pong":
		return &Pong{items[1].(string)}, nil
	case "message":
		return &Message{items[1].(string), items[2].(string)}, nil
	default:
		return &Subscription{kind, items[1].(string), int(items[2].(int64))}, nil
	}
}

// Close closes the connection.
func (p *PubSub) Close() error {
	return p.client.Close()
}

// Close closes the connection.
func (c *Client) Close() error {
	if c.connection == nil {
		return nil
	}
	return c.connection.Close()
}

func (c *Client) ask(args []any) (any, error) {
	if err := c.send(args); err != nil {
		return nil, err
	}
	return c.read()
}

func (c *Client) send(args []any) error {
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(args))
	for _, arg := range args {
		word := fmt.Sprint(arg)
		fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(word), word)
	}
	_, err := io.WriteString(c.connection, out.String())
	return err
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
