package server

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/server/wire"
)

// runRequest is the body of a request that creates a run.
type runRequest struct {
	AssistantID      string                 `json:"assistant_id"`
	Input            json.RawMessage        `json:"input"`
	Command          json.RawMessage        `json:"command"`
	Config           *wire.Config           `json:"config"`
	Context          wire.Object            `json:"context"`
	Metadata         wire.Object            `json:"metadata"`
	StreamMode       oneOrMore              `json:"stream_mode"`
	Subgraphs        bool                   `json:"stream_subgraphs"`
	Resumable        bool                   `json:"stream_resumable"`
	InterruptBefore  oneOrMore              `json:"interrupt_before"`
	InterruptAfter   oneOrMore              `json:"interrupt_after"`
	Checkpoint       *checkpointInput       `json:"checkpoint"`
	CheckpointID     string                 `json:"checkpoint_id"`
	Webhook          string                 `json:"webhook"`
	Multitask        wire.MultitaskStrategy `json:"multitask_strategy"`
	OnDisconnect     string                 `json:"on_disconnect"`
	OnCompletion     string                 `json:"on_completion"`
	AfterSeconds     float64                `json:"after_seconds"`
	IfNotExists      string                 `json:"if_not_exists"`
	Durability       string                 `json:"durability"`
	CheckpointDuring *bool                  `json:"checkpoint_during"`
	FeedbackKeys     []string               `json:"feedback_keys"`
	StrictResume     bool                   `json:"strict_resume"`

	staysAsking bool   // the thread of a run without one stays if the run asks
	run, mark   string // the id and the mark of a run that a cron creates: see firing
}

// checkpointInput names a checkpoint.
type checkpointInput struct {
	ID        string          `json:"checkpoint_id"`
	Namespace string          `json:"checkpoint_ns"`
	Map       json.RawMessage `json:"checkpoint_map"`
}

// oneOrMore is a list, which may be written as its only element.
type oneOrMore []string

// UnmarshalJSON reads a string or a list of strings.
func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*l = make(oneOrMore, 1)
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// streamModes are the modes of a classic stream.
var streamModes = []string{
	"values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events", "tools",
}

// maxDelay is the longest time until a run may begin.
const maxDelay = 365 * 24 * time.Hour

// choice is a field that has one of some values, the first of which is the default.
type choice struct {
	name   string
	value  *string
	values []string
}

// check returns the error of a request that is not valid, and sets defaults.
func (q *runRequest) check() error {
	if q.AssistantID == "" {
		return invalid("assistant_id must be set")
	}
	if len(q.StreamMode) == 0 {
		q.StreamMode = oneOrMore{"values"}
	}
	for _, mode := range q.StreamMode {
		if !slices.Contains(streamModes, mode) {
			return invalid("stream_mode must be one of %s (got %.100q)", strings.Join(streamModes, ", "), mode)
		}
	}
	if q.Durability == "" && q.CheckpointDuring != nil {
		if q.Durability = "exit"; *q.CheckpointDuring {
			q.Durability = "async"
		}
	}
	strategy := string(q.Multitask)
	for _, f := range []choice{
		{"multitask_strategy", &strategy, []string{"enqueue", "reject", "interrupt", "rollback"}},
		{"on_disconnect", &q.OnDisconnect, []string{"continue", "cancel"}},
		{"on_completion", &q.OnCompletion, []string{"delete", "keep"}},
		{"if_not_exists", &q.IfNotExists, []string{"reject", "create"}},
		{"durability", &q.Durability, []string{"sync", "async", "exit"}},
	} {
		if *f.value == "" {
			*f.value = f.values[0]
		}
		if !slices.Contains(f.values, *f.value) {
			return invalid("%s must be one of %s (got %.100q)", f.name, strings.Join(f.values, ", "), *f.value)
		}
	}
	q.Multitask = wire.MultitaskStrategy(strategy)
	if !(q.AfterSeconds >= 0 && q.AfterSeconds <= maxDelay.Seconds()) {
		return invalid("after_seconds must be between 0 and %d (got %g)", int(maxDelay.Seconds()), q.AfterSeconds)
	}
	return q.checkCommand()
}

// checkCommand returns the error of a command that has nothing to do.
func (q *runRequest) checkCommand() error {
	if absent(q.Command) {
		return nil
	}
	var c map[string]json.RawMessage
	if err := json.Unmarshal(q.Command, &c); err != nil {
		return invalid("command must be an object")
	}
	for _, key := range []string{"resume", "update", "goto"} {
		if raw, ok := c[key]; ok && (key == "resume" || !absent(raw)) {
			return nil
		}
	}
	return invalid("command must have resume, update or goto")
}

// at returns the checkpoint that the run goes on from; nil is the newest.
func (q *runRequest) at() *checkpointInput {
	switch {
	case q.Checkpoint != nil && (q.Checkpoint.ID != "" || q.Checkpoint.Namespace != ""):
		return q.Checkpoint
	case q.CheckpointID != "":
		return &checkpointInput{ID: q.CheckpointID}
	case q.Config != nil:
		var id string
		if raw := q.Config.Configurable["checkpoint_id"]; json.Unmarshal(raw, &id) == nil && id != "" {
			return &checkpointInput{ID: id}
		}
	}
	return nil
}

// mergeConfig returns the configuration of an assistant with that of a request in it.
func mergeConfig(base wire.Config, more *wire.Config) wire.Config {
	merged := wire.Config{
		Tags: slices.Clone(base.Tags), RecursionLimit: base.RecursionLimit, Configurable: make(wire.Object),
	}
	maps.Copy(merged.Configurable, base.Configurable)
	if more != nil {
		merged.Tags = append(merged.Tags, more.Tags...)
		maps.Copy(merged.Configurable, more.Configurable)
		if more.RecursionLimit != 0 {
			merged.RecursionLimit = more.RecursionLimit
		}
	}
	return merged
}
