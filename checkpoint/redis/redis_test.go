package redis_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
)

func TestStore(t *testing.T) {
	checkpointtest.Run(t, func(t testing.TB) checkpoint.Store { return open(t) })
}
