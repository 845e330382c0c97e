package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asking knows the call during which a server may ask.
type asking struct {
	turn sync.Mutex // held during a call

	mu   sync.Mutex
	call *askingCall // nil outside a call
}

// askingCall is a call during which a server may ask.
type askingCall struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	err    error // why the call is given up
}

// during makes a call. If alone is true, the server may ask, and other calls wait.
func (a *asking) during(ctx context.Context, alone bool, send func(context.Context) error) error {
	if !alone {
		return send(ctx)
	}
	a.turn.Lock()
	defer a.turn.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	own := &askingCall{}
	own.ctx, own.cancel = context.WithCancelCause(ctx)
	defer own.cancel(nil)
	a.set(own)
	defer a.set(nil)
	err := send(own.ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if own.err != nil {
		return own.err
	}
	return err
}

func (a *asking) set(c *askingCall) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.call = c
}

func (a *asking) now() *askingCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.call
}

// giveUp ends a call with an error.
func (a *asking) giveUp(c *askingCall, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.err = err
	c.cancel(err)
}

// elicit answers a question of the server.
func (c *Client) elicit(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	call := c.asking.now()
	if call == nil || r.Params.Mode == "url" {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	schema, err := json.Marshal(r.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	reply, err := c.server.Ask(call.ctx, Question{Message: r.Params.Message, Schema: schema})
	if err != nil {
		c.asking.giveUp(call, err)
		return nil, err
	}
	return &sdk.ElicitResult{Action: reply.Action, Content: reply.Content}, nil
}

// use notes that a request runs, and returns what notes its end.
func (c *Client) use() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy--
		switch {
		case c.busy > 0 || c.closed || c.server.Idle == 0:
		case c.idle == nil:
			c.idle = time.AfterFunc(c.server.Idle, c.rest)
			idling.Store(c, nil)
		default:
			c.idle.Reset(c.server.Idle)
			idling.Store(c, nil)
		}
	}
}

// rest ends the connection if no request runs.
func (c *Client) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy == 0 && c.now != nil {
		c.now.close()
		c.now = nil
	}
	if c.busy == 0 && c.idle != nil {
		c.idle.Stop()
		idling.Delete(c)
	}
}

// idling are the clients with a connection that ends after Server.Idle.
var idling sync.Map

// CloseIdle ends the connections that no request uses and that would end after [Server].Idle, with
// their programs. The next request connects again.
func CloseIdle() {
	idling.Range(func(c, _ any) bool {
		c.(*Client).rest()
		return true
	})
}
