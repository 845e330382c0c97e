package recording

import "context"

// Function calls a function of a program that may leave the process, or returns what a [Recorder]
// of the context has. Without a Recorder it is do. The request and the result must survive JSON;
// calls are distinguished by the name and the request.
func Function[Out any](ctx context.Context, name string, request any, do func(context.Context) (Out, error)) (Out, error) {
	return outside(ctx, kindFunction, name, request, do)
}
