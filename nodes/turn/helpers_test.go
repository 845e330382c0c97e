package turn_test

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// asks asks for a T.
func asks[T any](ctx context.Context) (any, error) {
	return graph.Ask[T](ctx, graph.Question{Prompt: "well?"})
}

func messageOf(v any) message.Message { return message.Assistant(fmt.Sprint(v)) }
