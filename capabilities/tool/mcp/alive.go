package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pingWait is how long a server may take to show that it works.
const pingWait = 2 * time.Second

// answers reports whether a server that did not answer in time works again. It may have been busy
// with that request alone.
func (s *session) answers(ctx context.Context) bool {
	if !s.late.Load() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, pingWait)
	defer cancel()
	err := s.Ping(ctx, nil)
	var answer *jsonrpc.Error
	if err == nil || errors.As(err, &answer) {
		s.late.Store(false)
		return true
	}
	return false
}
