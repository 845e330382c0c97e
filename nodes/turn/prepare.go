package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
)

var errNoTask = errors.New("turn: there is no task")

// Extraction extracts the task from the conversation and the results of the sources. A source that
// fails or is late is left out, with a status update.
func (t *Turn) Extraction(ctx context.Context, s *agent.State) error {
	return t.guard(ctx, s, agent.ToExtraction, t.extract)
}

func (t *Turn) extract(ctx context.Context, s *agent.State) error {
	if err := t.emitStatus(ctx, s, agent.ToExtraction, "Extracting the task…", phase(1)); err != nil {
		return err
	}
	query, _ := s.UserQuery()
	r := ExtractRequest{Messages: t.history(ctx, s), Query: query, Previous: previous(s, agent.ToExtraction)}
	for _, got := range t.retrieve(ctx, r) {
		if got.Err != nil {
			t.m.Display(s).Status(agent.StatusUpdate{Message: fmt.Sprintf("source %q: %v", got.Source, got.Err), Node: agent.ToExtraction})
			continue
		}
		r.Retrieved = append(r.Retrieved, got)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	task, err := t.extractor(s)(ctx, r)
	if err != nil {
		return err
	}
	if strings.TrimSpace(task.Text) == "" {
		return fmt.Errorf("%w: the conversation has none", errNoTask)
	}
	s.Task.Current.Set(task.Text)
	s.Task.DependsOnChatHistory.Set(task.DependsOnChatHistory)
	s.Task.DependsOnUserMemory.Set(task.DependsOnUserMemory)
	return nil
}

func (t *Turn) extractor(s *agent.State) func(context.Context, ExtractRequest) (Task, error) {
	if *t.settings(s).TaskExtractionBypass {
		return wholeConversation
	}
	return t.cfg.Extract
}

func phase(n int) map[string]string {
	return map[string]string{"phase": "Task Preparation", "step": fmt.Sprint(n), "total": "3"}
}

// Classifier chooses the capabilities for the task, and drops the earlier plan. A run caused by a
// failed choice counts as a reclassification, even if it fails itself.
func (t *Turn) Classifier(ctx context.Context, s *agent.State) error {
	last, failed := failed(s)
	again := failed && last.Severity == agent.Reclassification && last.Node != agent.ToClassifier || s.Control.NeedsReclassification.Get()
	if err := t.guard(ctx, s, agent.ToClassifier, t.classify); err != nil {
		return err
	}
	if again {
		s.Control.ReclassificationCount.Add(1)
		s.Control.NeedsReclassification.Set(false)
	}
	return nil
}

func (t *Turn) classify(ctx context.Context, s *agent.State) error {
	if err := t.emitStatus(ctx, s, agent.ToClassifier, "Choosing capabilities…", phase(2)); err != nil {
		return err
	}
	task, ok := s.Task.Current.Lookup()
	if !ok {
		return errNoTask
	}
	if pin := *t.settings(s).PinnedCapability; pin != "" {
		return t.pin(s, pin)
	}
	chosen := t.reg.Names()
	if t.cfg.Match != nil && !*t.settings(s).CapabilitySelectionBypass {
		var err error
		if chosen, err = t.match(ctx, s, task); err != nil {
			return err
		}
	}
	names, err := t.reg.Active(chosen...)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !t.enabled(s, name) })
	s.Planning.ActiveCapabilities.Overwrite(append(terminals(), names...))
	t.unplan(s)
	return nil
}

// pin chooses one capability and no other.
func (t *Turn) pin(s *agent.State, name string) error {
	if !t.enabled(s, name) {
		return fmt.Errorf("%w: %q is pinned, and the configuration of the thread does not enable it", capabilities.ErrUnknown, name)
	}
	if _, ok := t.reg.Get(name); !ok {
		return fmt.Errorf("%w: %q is pinned; there are %s", capabilities.ErrUnknown, name, strings.Join(t.reg.Names(), ", "))
	}
	s.Planning.ActiveCapabilities.Overwrite(append(terminals(), name))
	t.unplan(s)
	return nil
}

// unplan drops the plan and all requests of its steps.
func (t *Turn) unplan(s *agent.State) {
	s.Planning.ExecutionPlan.Clear()
	s.Planning.CurrentStepIndex.Set(0)
	s.Execution.PendingApprovals.Overwrite(nil)
}

// match calls Config.Match for each capability that is not always active, several at once, and
// returns the names of the matching ones. A failure or a panic counts as no match.
func (t *Turn) match(ctx context.Context, s *agent.State, task string) (chosen []string, err error) {
	var infos []capabilities.Info
	for _, name := range t.reg.Names() {
		if c, _ := t.reg.Get(name); !c.Info().AlwaysActive && t.enabled(s, name) {
			infos = append(infos, c.Info())
		}
	}
	most := *t.settings(s).MaxConcurrentClassifications
	if most <= 0 {
		most = len(infos)
	}
	why := previous(s, agent.ToClassifier)
	wanted := make([]bool, len(infos))
	errs := make([]error, len(infos))
	forEach(len(infos), most, func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			wanted[i], errs[i] = safely(func() (bool, error) { return t.cfg.Match(ctx, MatchRequest{task, infos[i], why}) })
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, info := range infos {
		switch {
		case errs[i] != nil:
			t.m.Display(s).Status(agent.StatusUpdate{Message: fmt.Sprintf("whether %q matches: %v; assuming no", info.Name, errs[i]), Node: agent.ToClassifier})
		case wanted[i]:
			chosen = append(chosen, info.Name)
		}
	}
	return chosen, nil
}

// forEach calls do for 0 to n-1, at most `most` at once, and returns when all calls have returned.
func forEach(n, most int, do func(i int)) {
	var all sync.WaitGroup
	places := make(chan struct{}, max(1, most))
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	all.Wait()
}
