package recording

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/weftrun/weft/capabilities/model"
)

// Model returns m with a name, whose calls a [Recorder] of their context records or replays.
// Without a Recorder it is m.
//
// What the provider does not get is not recorded: the ID of the request, and the IDs, times, costs
// and metadata of messages. Calls of tools are numbered in the request.
func Model(name string, m model.Model) model.Model {
	return model.Func(func(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
		r := of(ctx)
		if r == nil {
			return m.Stream(ctx, req)
		}
		return func(yield func(model.Chunk, error) bool) {
			request, err := requestValue(req)
			if err != nil {
				yield(model.Chunk{}, fmt.Errorf("recording: the request has no JSON: %w", err))
				return
			}
			old, call, err := r.begin(ctx, kindModel, name, request)
			switch {
			case err != nil:
				yield(model.Chunk{}, err)
			case old != nil:
				old.replay(ctx, yield)
			default:
				r.stream(ctx, call, m, req, yield)
			}
		}
	})
}

// stream makes a call, and records the answer.
func (r *Recorder) stream(ctx context.Context, call *made, m model.Model, req model.Request, yield func(model.Chunk, error) bool) {
	var a answer
	for c, err := range m.Stream(without(ctx), req) {
		a.add(c)
		if err != nil {
			o := outcome{a.value(), errorValue(ctx, err)}
			if len(o.result.items) == 0 {
				o.result = nil
			}
			r.end(call, o)
			yield(c, err)
			return
		}
		if !yield(c, nil) {
			break
		}
	}
	r.end(call, outcome{a.value(), nil})
}

// requestValue returns a request as it is recorded.
func requestValue(r model.Request) (*value, error) {
	ids := map[string]string{}
	id := func(old string) string {
		if ids[old] == "" {
			ids[old] = "call-" + strconv.Itoa(len(ids)+1)
		}
		return ids[old]
	}
	r.ID = ""
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		m = m.Clone()
		m.ID, m.Usage, m.Metadata, m.Created = "", nil, nil, time.Time{}
		for j := range m.Calls {
			m.Calls[j].ID, m.Calls[j].Edited = id(m.Calls[j].ID), nil
		}
		for j := range m.Results {
			m.Results[j].CallID = id(m.Results[j].CallID)
		}
		r.Messages[i] = m
	}
	return valueOf(r)
}
