package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Quiet keeps the client library from writing lines of its own to stderr, in the whole process:
// a server that does not answer is an error of the call, with the same words. It is for command
// lines, whose stderr is for their user.
func Quiet() { redis.SetLogger(silence{}) }

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
