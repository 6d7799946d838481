%title
%header

package schedule

import (
%if servers
	"context"
%end
%if digests
	"crypto/sha1"
%end
%if database
	"database/sql"
%end
%if digests
	"encoding/hex"
%end
%if servers
	"errors"
%end
%if uses_fmt
	"fmt"
%end
%if servers
	"os"
%end
%if !holds
	"reflect"
%end
	"runtime"
%if growing
	"sort"
%end
%if uses_strconv
	"strconv"
%end
%if servers
	"strings"
%end
	"sync"
	"testing"
%if uses_time
	"time"
%end
%if servers

%end
%if database
	"github.com/go-sql-driver/mysql"
%end
%if store
	"github.com/redis/go-redis/v9"
%end
)

%scripts
%settings
%routines

func Test{{test}}(t *testing.T) {
	notes := &notes{}
	operator := newClient(t, "operator", notes)
	defer operator.close()
	setUp(t, operator)
	%latches
	%parts

	%together
	if t.Failed() {
		return
	}
%if !holds

	%seen
	assertEqual(t, notes.seen, expected)
	%end_state
%end
	%claims
}

// setUp makes what stands before the schedule, and has it removed in the end; what is there already is left alone.
func setUp(t *testing.T, operator *client) {
%if keys
%each
	if taken := operator.{{server}}(append([]any{"EXISTS"}, keys...)...); taken != 0 {
		t.Fatal("Redis has its keys already")
	}
%end
%end
%if tables
	for _, table := range tables {
		taken := operator.rows("SHOW TABLES LIKE '" + table + "'").([]any)
		if len(taken) > 0 {
			t.Fatalf("the database has %s already", table)
		}
	}
%end
	t.Cleanup(func() {
		operator := newClient(t, "operator", &notes{})
		defer operator.close()
%if tables
		for _, table := range tables {
			operator.update("DROP TABLE IF EXISTS `" + table + "`")
		}
%end
%if keys
%each
		operator.{{server}}(append([]any{"DEL"}, keys...)...)
%end
%end
	})
%if statements
	for _, statement := range statements {
		if reply := operator.update(statement); isError(reply) {
			t.Fatalf("%s: %v", statement, reply)
		}
	}
%end
	%commands
}

// runTogether runs each part in a goroutine of its own.
func runTogether(parts ...func()) {
	var running sync.WaitGroup
	for _, part := range parts {
		running.Add(1)
		go func(part func()) {
			defer running.Done()
			part()
		}(part)
	}
	running.Wait()
}
%if latches

func waitFor(t *testing.T, latch <-chan struct{}) {
	select {
	case <-latch:
	case <-time.After(10 * time.Second):
		t.Error("the others never came as far as this waits for")
		runtime.Goexit()
	}
}
%end
%if !holds

func assertEqual(t *testing.T, got, expected any) {
	t.Helper()
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("\n got      %v\n expected %v", got, expected)
	}
}
%if store

func assertLapsesAfter(t *testing.T, timeToLive any, key string, milliseconds int) {
	t.Helper()
	if left := timeToLive.(int); left <= milliseconds {
		t.Errorf("%s lapses in %d ms", key, left)
	}
}
%end
%end

// serverError is the word or the number that names an error.
type serverError string

func isError(reply any) bool {
	_, isError := reply.(serverError)
	return isError
}

%if no_reply
// noReply is what a client learns that has waited for a reply in vain.
var noReply any = nothing{}

type nothing struct{}

%end
// saw is what somebody was told.
type saw struct {
	who, what string
	reply any
}

// notes is what all of them have noted.
type notes struct {
	sync.Mutex
	seen []saw
%if gateway
	gateway gateway
%end
%if sells
	sales []string
%end
%if left
	left []any
%end
%if deadlines
	timesToLive []any
%end
}
%if replies

// replies are those that a client got to a step.
func (n *notes) replies(client, step string) []any {
	var found []any
	for _, saw := range n.seen {
		if saw.who == client && saw.what == step {
			found = append(found, saw.reply)
		}
	}
	return found
}

func concat(lists ...[]any) []any {
	var all []any
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
%end
%if lists_of_replies

func all(replies []any, isFine func(reply any) bool) bool {
	for _, reply := range replies {
		if !isFine(reply) {
			return false
		}
	}
	return true
}

func isZero(reply any) bool    { return reply == 0 }
func isNotZero(reply any) bool { return reply != 0 }
%end
%if deadlines

func hasDeadline(timeToLive any) bool { return timeToLive != -1 }
%end
%if numbers

func number(reply any) int {
	if text, isText := reply.(string); isText {
		number, _ := strconv.Atoi(text)
		return number
	}
	number, _ := reply.(int)
	return number
}
%end
%if tokens

func numbers(replies []any) []int {
	var numbers []int
	for _, reply := range replies {
		numbers = append(numbers, number(reply))
	}
	return numbers
}
%end
%if different

func areDifferent[T comparable](items []T) bool {
	known := map[T]bool{}
	for _, item := range items {
		known[item] = true
	}
	return len(known) == len(items)
}
%end
%if elements

// elements are one of each of these replies.
func elements(replies []any, place int) []any {
	var elements []any
	for _, reply := range replies {
		elements = append(elements, element(reply, place))
	}
	return elements
}
%end
%if uses_elements

func element(reply any, place int) any {
	return reply.([]any)[place]
}
%end
%if loose

// near is what was seen there, if it is within a second of what is expected.
func near(expected int, seen []saw, place int, elements ...int) any {
	if place >= len(seen) {
		return expected
	}
	reply := seen[place].reply
	for _, place := range elements {
		reply = element(reply, place)
	}
	number, isNumber := reply.(int)
	if isNumber && number >= expected-1000 && number <= expected+1000 {
		return number
	}
	return expected
}
%end
%if gateway

// charge is one charge to a card.
type charge struct {
	order string
	amount int
	refunded bool
}

// gateway is a card gateway in memory; with a key that it knows it does not charge again.
type gateway struct {
	charges []charge
	names map[any]string
}

// charge charges a card, and gives the charge's name.
func (g *gateway) charge(order string, amount int, key any) any {
	if name, isKnown := g.names[key]; isKnown {
		return name
	}
	g.charges = append(g.charges, charge{order: order, amount: amount})
	name := fmt.Sprintf("ch-%d", len(g.charges))
	if key != nil {
		if g.names == nil {
			g.names = map[any]string{}
		}
		g.names[key] = name
	}
	return name
}

// refund gives a charge back, by its name or by that of its order.
func (g *gateway) refund(name any) any {
	for place := len(g.charges) - 1; place >= 0; place-- {
		charge := &g.charges[place]
		isMeant := name == charge.order || name == fmt.Sprintf("ch-%d", place+1)
		if isMeant && !charge.refunded {
			charge.refunded = true
			return "OK"
		}
	}
	return serverError("ERR")
}

// paid are the orders that are paid, once for each charge.
func (g *gateway) paid() []string {
	var paid []string
	for _, charge := range g.charges {
		if !charge.refunded {
			paid = append(paid, charge.order)
		}
	}
	return paid
}

// isWithin says whether all of some orders are among others.
func isWithin(orders, others []string) bool {
	known := map[string]bool{}
	for _, order := range others {
		known[order] = true
	}
	for _, order := range orders {
		if !known[order] {
			return false
		}
	}
	return true
}
%end
%if clock

// clock is a client's own clock, in milliseconds, and what the client keeps by it.
type clock struct {
	now, sent int
%if looks
	until map[string]int
%end
%if votes
	ballots map[string]*ballot
%end
}
%if votes

// ballot is when the first vote for a lock was asked for, and how many have come.
type ballot struct {
	began, counted int
}
%end

// clear begins an attempt, which counts on no lock yet.
func (c *clock) clear() {
%if looks
	c.until = map[string]int{}
%end
%if votes
	c.ballots = map[string]*ballot{}
%end
}

// passes lets the clock go as far as the schedule says.
func (c *clock) passes(milliseconds int) {
	c.now += milliseconds
}
%if looks

// holds counts on a lock for so long, from when the last request was sent.
func (c *clock) holds(lock string, milliseconds int) {
	c.until[lock] = c.sent + milliseconds
}

// forgets counts on a lock no longer.
func (c *clock) forgets(lock string) {
	delete(c.until, lock)
}

// look says whether the time is over for which a lock can be counted on.
func (c *clock) look(lock string) any {
	if until, isHeld := c.until[lock]; isHeld && c.now < until {
		return "held"
	}
	return "lapsed"
}
%end
%if votes

// asksFor notes that the last request was for a vote; the first one of them begins the lease.
func (c *clock) asksFor(lock string) {
	if c.ballots[lock] == nil {
		c.ballots[lock] = &ballot{began: c.sent}
	}
}

// countsAVoteFor notes that a server has granted the lock.
func (c *clock) countsAVoteFor(lock string) {
	c.ballots[lock].counted++
}

// quorum gives what is left of the lease; nil where too few have voted, or it is over.
func (c *clock) quorum(votes int, lock string, lease, drift int) any {
	ballot := c.ballots[lock]
	delete(c.ballots, lock)
	if ballot == nil || ballot.counted < votes {
		return nil
	}
	if left := lease - (c.now - ballot.began) - drift; left > 0 {
		return left
	}
	return nil
}
%end
%end
%if digests

// sha1Of is by what EVALSHA knows a script.
func sha1Of(script string) string {
	digest := sha1.Sum([]byte(script))
	return hex.EncodeToString(digest[:])
}
%end
%if routines

// step is a request that a protocol is about to send.
type step struct {
	label string
	request func(c *client) any
	reply chan any
}

// steps is what a protocol hands its requests to.
type steps struct {
	upcoming chan step
	gone chan struct{}
	notes *notes
%if clock
	clock *clock
%end
}

// try gives the reply to a request, which is sent when the schedule says so; an error is a reply like any other.
func (s *steps) try(label string, request func(c *client) any) any {
	step := step{label, request, make(chan any, 1)}
	select {
	case s.upcoming <- step:
	case <-s.gone:
		runtime.Goexit()
	}
	select {
	case reply := <-step.reply:
		return reply
	case <-s.gone:
		runtime.Goexit()
		return nil
	}
}

// ask does the same; an error ends the attempt.
func (s *steps) ask(label string, request func(c *client) any) any {
	reply := s.try(label, request)
	if isError(reply) {
		runtime.Goexit()
	}
	return reply
}
%if sells

// sells notes that units are sold to an order.
func (s *steps) sells(units int, order string) {
	s.notes.Lock()
	defer s.notes.Unlock()
	for ; units > 0; units-- {
		s.notes.sales = append(s.notes.sales, order)
	}
}
%end
%end

// client is somebody with connections of their own; whatever they are told is noted.
type client struct {
	t *testing.T
	name string
	notes *notes
%if store !several
	rdb *redis.Client
%end
%if store several
	rdb []*redis.Client
%end
%if database
	db *sql.DB
	mysql *sql.Conn
%end
%if routines
	steps *steps
	upcoming *step
	reply any
%end
%if delays
	underWay *step
%end
%if listens
	inbox *inbox
%end
%if starts
	numbers map[string]any
	what string
	answer chan any
%end
%if clock
	clock *clock
%end
}

func newClient(t *testing.T, name string, notes *notes) *client {
%if clock
	client := &client{t: t, name: name, notes: notes, clock: &clock{}}
%end
%if !clock
	client := &client{t: t, name: name, notes: notes}
%end
	client.connect()
	return client
}

// connect opens connections of its own.
func (c *client) connect() {
%if store !several
	c.rdb = connectToRedis(c.t)
%end
%if store several
	c.rdb = []*redis.Client{
%each
		connectToRedis(c.t, "REDIS_URL{{suffix}}", "{{place}}"),
%end
	}
%end
%if database
	c.db, c.mysql = connectToMySQL(c.t)
%end
%if listens !several
	c.inbox = &inbox{t: c.t, rdb: connectToRedis(c.t)}
%end
%if listens several
	c.inbox = &inbox{t: c.t, rdb: connectToRedis(c.t, "REDIS_URL", "0")}
%end
%if starts
	c.numbers = map[string]any{}
%end
%if starts_in_redis
%each
	c.numbers["{{server}}"] = c.{{server}}("CLIENT", "ID")
%end
%end
%if starts_in_mysql
	c.numbers["mysql"] = element(element(c.rows("SELECT CONNECTION_ID()"), 0), 0)
%end
}

// close closes them, as a crash would; what is not committed is rolled back.
func (c *client) close() {
%if store !several
	c.rdb.Close()
%end
%if store several
	for _, rdb := range c.rdb {
		rdb.Close()
	}
%end
%if listens
	c.inbox.close()
%end
%if database
	c.mysql.Close()
	c.db.Close()
%end
%if routines
	if c.steps != nil {
		close(c.steps.gone)
		c.steps, c.upcoming = nil, nil
	}
%end
}
%if routines

// runs begins an attempt, and has its first request ready.
func (c *client) runs(protocol func(steps *steps)) {
%if clock
	c.clock.clear()
	steps := &steps{make(chan step), make(chan struct{}), c.notes, c.clock}
%end
%if !clock
	steps := &steps{make(chan step), make(chan struct{}), c.notes}
%end
	go func() {
		defer close(steps.upcoming)
		protocol(steps)
	}()
	c.steps = steps
	c.waitForTheNext()
}

func (c *client) waitForTheNext() {
	step, isThere := <-c.steps.upcoming
	c.upcoming = nil
	if isThere {
		c.upcoming = &step
	}
}

%if holds
// step sends the next request, if there is one, and sees the reply.
func (c *client) step() {
	c.sends()
	c.seesTheReply()
}

// sends sends the next request, if there is one; the reply waits.
func (c *client) sends() {
	if c.upcoming != nil {
%if clock
		c.clock.sent = c.clock.now
%end
		c.reply = c.note(c.upcoming.label, c.upcoming.request)
	}
}
%if loses

// loses lets the next request get lost.
func (c *client) loses() {
%if clock
	c.clock.sent = c.clock.now
%end
	c.reply = noReply
}
%end
%if delays

// delays keeps the next request under way.
func (c *client) delays() {
%if clock
	c.clock.sent = c.clock.now
%end
	c.underWay = c.upcoming
}
%end
%if finds_down

// findsItDown lets the next request find its server down.
func (c *client) findsItDown() {
	c.loses()
	c.givesUp()
}
%end
%end
%if !holds
// step sends the next request, which has to be this one, and sees the reply.
func (c *client) step(label string) {
	c.sends(label)
	c.seesTheReply()
}

// sends sends the next request, which has to be this one; the reply waits.
func (c *client) sends(label string) {
	c.expects(label)
	c.reply = c.note(label, c.upcoming.request)
}

// expects fails where the next request is not this one.
func (c *client) expects(label string) {
	if c.upcoming == nil || c.upcoming.label != label {
		c.t.Errorf("%s does not send %s", c.name, label)
		runtime.Goexit()
	}
%if clock
	c.clock.sent = c.clock.now
%end
}
%if loses

// loses lets the next request, which has to be this one, get lost.
func (c *client) loses(label string) {
	c.expects(label)
}
%end
%if delays

// delays keeps the next request, which has to be this one, under way.
func (c *client) delays(label string) {
	c.expects(label)
	c.underWay = c.upcoming
}
%end
%if finds_down

// findsItDown lets the next request, which has to be this one, find its server down.
func (c *client) findsItDown(label string) {
	c.loses(label)
	c.givesUp()
}
%end
%end
%if delivers

// delivers lets what has been under way come to its server; the reply waits.
func (c *client) delivers() {
	if c.underWay != nil {
		c.reply = c.note(c.underWay.label, c.underWay.request)
	}
}
%end
%if told holds

// isTold has the next request answered by the schedule.
func (c *client) isTold(reply any) {
	c.reply = reply
	c.seesTheReply()
}
%end
%if told !holds

// isTold has the next request, which has to be this one, answered by the schedule.
func (c *client) isTold(label string, reply any) {
	c.expects(label)
	c.reply = reply
	c.seesTheReply()
}
%end
%if waits

// waitsForAMessage expects this request, which waits: no message has come.
func (c *client) waitsForAMessage(label, channel string) {
	c.expects(label)
	if !c.inbox.isEmpty(channel) {
		c.t.Errorf("%s has a message for %s", c.name, label)
		runtime.Goexit()
	}
}
%end
%if gives_up

// givesUp waits no longer for the reply.
func (c *client) givesUp() {
	c.reply = noReply
	c.seesTheReply()
}
%end

// seesTheReply hands the reply to the protocol, which has its next request ready then.
func (c *client) seesTheReply() {
	if c.upcoming != nil {
		c.upcoming.reply <- c.reply
		c.waitForTheNext()
	}
}
%end

%if starts_steps holds
// starts sends the next request, if there is one, which may have to wait.
func (c *client) starts(server string) {
	c.what = ""
	if c.upcoming != nil {
%if clock
		c.clock.sent = c.clock.now
%end
		c.startsAsking(c.upcoming.label, server, c.upcoming.request)
	}
}

%end
%if starts_steps !holds
// starts sends the next request, which has to be this one, and waits for somebody else.
func (c *client) starts(label, server string) {
	c.expects(label)
	c.startsAsking(label, server, c.upcoming.request)
}

%end
%if starts
// startsAsking sends a request in a goroutine of its own, and sees that it waits.
func (c *client) startsAsking(what, server string, request func(c *client) any) {
	answer := make(chan any, 1)
	go func() { answer <- request(c) }()
	c.what, c.answer = what, answer
	deadline := time.Now().Add(10 * time.Second)
%if holds
	for len(answer) == 0 && !c.isWaiting(server) {
		if time.Now().After(deadline) {
%end
%if !holds
	for !c.isWaiting(server) {
		if len(answer) > 0 || time.Now().After(deadline) {
%end
			c.t.Errorf("%s does not wait", what)
			runtime.Goexit()
		}
	}
}

// isWaiting says whether a server has a request of this client waiting.
func (c *client) isWaiting(server string) bool {
	operator := newClient(c.t, "operator", &notes{})
	defer operator.close()
%if starts_in_mysql
	if server == "mysql" {
		number := fmt.Sprintf("%v", c.numbers[server])
		states := operator.rows("SELECT state FROM information_schema.processlist WHERE id = " + number)
		status := element(element(operator.rows("SHOW ENGINE INNODB STATUS"), 0), 2).(string)
		for _, part := range strings.Split(status, "---TRANSACTION") {
			if strings.Contains(part, "LOCK WAIT") && strings.Contains(part, "thread id "+number+",") {
				return true
			}
		}
		return element(element(states, 0), 0) == "User lock"
	}
%end
%if starts_in_redis
	var found any
%each
	if server == "{{server}}" {
		found = operator.{{server}}("CLIENT", "LIST", "ID", c.numbers[server])
	}
%end
	flags := strings.SplitN(found.(string), "flags=", 2)[1]
	return strings.Contains(strings.Fields(flags)[0], "b")
%end
%if !starts_in_redis
	return false
%end
}

// hears waits for the answer to what has waited; it is noted, and waits to be seen.
func (c *client) hears() {
%if holds
	if c.what == "" {
		return
	}
%end
	select {
	case reply := <-c.answer:
%if routines
		c.reply = c.note(c.what, func(*client) any { return reply })
%end
%if !routines
		c.note(c.what, func(*client) any { return reply })
%end
	case <-time.After(10 * time.Second):
		c.t.Errorf("%s is not answered", c.what)
		runtime.Goexit()
	}
}

%end
%if withdraws
// withdraws waits no longer: the server gives the request up, and nobody hears of it.
func (c *client) withdraws(server string) {
%if holds
	if c.what == "" {
		return
	}
%end
	operator := newClient(c.t, "operator", &notes{})
	defer operator.close()
%if starts_in_mysql
	if server == "mysql" {
		operator.update(fmt.Sprintf("KILL QUERY %v", c.numbers[server]))
	}
%end
%if starts_in_redis
%each
	if server == "{{server}}" {
		operator.{{server}}("CLIENT", "UNBLOCK", c.numbers[server], "ERROR")
	}
%end
%end
	<-c.answer
}

%end
// note sends a request, and notes the reply.
func (c *client) note(what string, request func(c *client) any) any {
	reply := request(c)
	noted := reply
	if code, isError := reply.(serverError); isError {
		noted = string(code)
	}
	c.notes.Lock()
	defer c.notes.Unlock()
	c.notes.seen = append(c.notes.seen, saw{c.name, what, noted})
	return reply
}
%if left

// looksFor notes whether a key is there.
func (c *client) looksFor(isThere any) {
	c.notes.left = append(c.notes.left, isThere)
}
%end
%if deadlines

// looksHowLongThereIs notes how long a key will be there.
func (c *client) looksHowLongThereIs(timeToLive any) {
	c.notes.timesToLive = append(c.notes.timesToLive, timeToLive)
}
%end
%if store

%if several
%each
func (c *client) {{server}}(command ...any) any {
	return c.do(c.rdb[{{place}}], command)
}

%end
func (c *client) do(rdb *redis.Client, command []any) any {
	reply, err := rdb.Do(context.Background(), command...).Result()
%end
%if !several
func (c *client) redis(command ...any) any {
	reply, err := c.rdb.Do(context.Background(), command...).Result()
%end
	var refusal redis.Error
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return plain(reply)
	case errors.As(err, &refusal):
		return serverError(strings.Fields(err.Error())[0])
	}
	c.t.Error(err)
	runtime.Goexit()
	return nil
}

// plain is a reply of Redis with numbers as Go's own.
func plain(reply any) any {
	switch reply := reply.(type) {
	case int64:
		return int(reply)
	case []any:
		items := make([]any, len(reply))
		for place, item := range reply {
			items[place] = plain(item)
		}
		return items
	}
	return reply
}

%if several
func connectToRedis(t *testing.T, variable, database string) *redis.Client {
	url := os.Getenv(variable)
	if url == "" {
		url = "redis://127.0.0.1:6379/" + database
	}
%end
%if !several
func connectToRedis(t *testing.T) *redis.Client {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		url = "redis://127.0.0.1:6379/0"
	}
%end
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	// Whoever watches keys, or begins a transaction, needs the same connection again.
	options.PoolSize = 1
	options.Protocol = 2
	return redis.NewClient(options)
}
%end
%if listens

// inbox is a client's subscriptions, on a connection of their own, and what has come.
type inbox struct {
	t *testing.T
	rdb *redis.Client
	pubsub *redis.PubSub
	messages []*redis.Message
}

func (i *inbox) close() {
	if i.pubsub != nil {
		i.pubsub.Close()
	}
	i.rdb.Close()
}
%if subscribes

// subscribe begins to listen; the reply is as the server sends it.
func (i *inbox) subscribe(channel string) any {
	if i.pubsub == nil {
		i.pubsub = i.rdb.Subscribe(context.Background(), channel)
	} else if err := i.pubsub.Subscribe(context.Background(), channel); err != nil {
		return i.failed(err)
	}
	return i.confirmation()
}
%end
%if unsubscribes

// unsubscribe ends it.
func (i *inbox) unsubscribe(channel string) any {
	if err := i.pubsub.Unsubscribe(context.Background(), channel); err != nil {
		return i.failed(err)
	}
	return i.confirmation()
}
%end

func (i *inbox) confirmation() any {
	for {
		if got, isIt := i.next().(*redis.Subscription); isIt {
			return []any{got.Kind, got.Channel, got.Count}
		}
	}
}
%if awaits

// message is the next one of a channel: one that has come, or the next to come.
func (i *inbox) message(channel string) any {
	for place := 0; ; place++ {
		for place >= len(i.messages) {
			i.next()
		}
		if message := i.messages[place]; message.Channel == channel {
			i.messages = append(i.messages[:place:place], i.messages[place+1:]...)
			return message.Payload
		}
	}
}
%end
%if waits

// isEmpty says whether no message of a channel has come.
func (i *inbox) isEmpty(channel string) bool {
	// Whatever had come before the answer to this is read then.
	if err := i.pubsub.Ping(context.Background()); err != nil {
		i.failed(err)
	}
	for isThere := false; !isThere; {
		_, isThere = i.next().(*redis.Pong)
	}
	for _, message := range i.messages {
		if message.Channel == channel {
			return false
		}
	}
	return true
}
%end

// next is whatever comes next; a message is kept.
func (i *inbox) next() any {
	got, err := i.pubsub.ReceiveTimeout(context.Background(), 10*time.Second)
	if err != nil {
		return i.failed(err)
	}
	if message, isMessage := got.(*redis.Message); isMessage {
		i.messages = append(i.messages, message)
	}
	return got
}

func (i *inbox) failed(err error) any {
	i.t.Error(err)
	runtime.Goexit()
	return nil
}
%end
%if database

func connectToMySQL(t *testing.T) (*sql.DB, *sql.Conn) {
	setting := func(name, usual string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		return usual
	}
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = setting("MYSQL_HOST", "127.0.0.1") + ":" + setting("MYSQL_PORT", "3306")
	config.User = setting("MYSQL_USER", "root")
	config.Passwd = setting("MYSQL_PASSWORD", "")
	config.DBName = setting("MYSQL_DATABASE", "test")
	config.InterpolateParams = true
%if found_rows
	config.ClientFoundRows = true
%end
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	connection, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return db, connection
}

// refused is the error that the database answers with; any other one ends the test.
func (c *client) refused(err error) any {
	var refusal *mysql.MySQLError
	if errors.As(err, &refusal) {
		return serverError(fmt.Sprintf("ERROR %d", refusal.Number))
	}
	c.t.Error(err)
	runtime.Goexit()
	return nil
}

// update gives the affected rows.
func (c *client) update(statement string, values ...any) any {
	result, err := c.mysql.ExecContext(context.Background(), statement, values...)
	if err != nil {
		return c.refused(err)
	}
	affected, _ := result.RowsAffected()
	return int(affected)
}

func (c *client) rows(query string, values ...any) any {
	found, err := c.mysql.QueryContext(context.Background(), query, values...)
	if err != nil {
		return c.refused(err)
	}
	defer found.Close()
	columns, _ := found.ColumnTypes()
	rows := []any{}
	for found.Next() {
		row, places := make([]any, len(columns)), make([]any, len(columns))
		for place := range row {
			places[place] = &row[place]
		}
		if err := found.Scan(places...); err != nil {
			return c.refused(err)
		}
		for place, column := range columns {
			row[place] = cell(column, row[place])
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		return c.refused(err)
	}
	return rows
}

// cell is a value of the database: a whole number as one, anything else as its text.
func cell(column *sql.ColumnType, value any) any {
	switch value := value.(type) {
	case int64:
		return int(value)
	case []byte:
		number, err := strconv.Atoi(string(value))
		if strings.Contains(column.DatabaseTypeName(), "INT") && err == nil {
			return number
		}
		return string(value)
	}
	return value
}
%end
%if database one_row

// row gives the first row; nil where there is none.
func (c *client) row(query string, values ...any) any {
	reply := c.rows(query, values...)
	if rows, isList := reply.([]any); isList {
		if len(rows) == 0 {
			return nil
		}
		return rows[0]
	}
	return reply
}
%end
%if database values

// value gives the first value of the first row; nil where there is none.
func (c *client) value(query string, values ...any) any {
	reply := c.row(query, values...)
	if row, isList := reply.([]any); isList {
		return row[0]
	}
	return reply
}
%end
