package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// recordedFlags are the flags of test for recorded threads.
type recordedFlags struct {
	on, yes, exact bool
	threads        []string // none means all
	fields         []string // none means all
	judge          string
	limit          int
	timeout        time.Duration
}

func (f *recordedFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "recorded", false, "run the last turns of recorded threads again, in place of the tests in the file")
	cmd.Flags().StringArrayVar(&f.threads, "thread", nil, "with --recorded, only this THREAD; repeatable")
	cmd.Flags().StringArrayVar(&f.fields, "field", nil, "with --recorded, only this field of the output must be as recorded; repeatable")
	cmd.Flags().StringVar(&f.judge, "judge", "", "with --recorded, a workflow FILE that judges each output")
	cmd.Flags().BoolVar(&f.exact, "exact", false, "with --judge, outputs must be as recorded too")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "with --recorded, at most so many threads")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "the longest time for a thread and its judge with --recorded, or for a test with --record")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --recorded, run the nodes again, with all that they do")
}

// check returns an error for flags that do not fit together.
func (f *recordedFlags) check(files []string, others bool) error {
	switch {
	case !f.on && (f.judge != "" || f.exact || f.yes || len(f.threads)+len(f.fields) > 0):
		return reports.Usage("add --recorded", "--thread, --field, --judge, --exact and --yes require --recorded")
	case !f.on:
		return nil
	case others:
		return reports.Usage("leave them out", "--run, --cover and --record are for the tests in the file")
	case len(files) != 1:
		return reports.Usage("name one workflow or graph", "--recorded takes one FILE, not %d", len(files))
	case f.limit <= 0 || f.timeout <= 0:
		return reports.Usage("give greater numbers", "--limit and --timeout must be positive (got %d and %v)", f.limit, f.timeout)
	case !f.yes:
		return reports.Usage("add --yes to run them", "the nodes of the threads would do their work again, requests and files included")
	}
	return nil
}

// testRecorded runs recorded threads again and compares their outputs.
func (a *app) testRecorded(ctx context.Context, file, junit string, f recordedFlags) error {
	var j *judge
	if f.judge != "" {
		var err error
		if j, err = a.openJudge(ctx, f.judge); err != nil {
			return err
		}
	}
	return a.evaluateAll(ctx, file, junit, f, func(ctx context.Context, s *session, open opening) (evaluation, error) {
		e, given, err := s.runAgain(ctx, open)
		if err != nil || e.Result != evaluatedOK {
			return e, err
		}
		if j == nil || f.exact || len(f.fields) > 0 {
			e.compare(f.fields, s.graph.redactor())
		}
		if j != nil {
			given["thread"], _ = json.Marshal(s.thread)
			err = j.judge(ctx, &e, given)
		}
		return e, err
	})
}

// evaluateAll calls evaluate for each thread of a graph, and prints what came of them.
func (a *app) evaluateAll(ctx context.Context, file, junit string, f recordedFlags, evaluate func(context.Context, *session, opening) (evaluation, error)) error {
	open, err := a.declared(file)
	if err != nil {
		return err
	}
	return withStore(ctx, a.openToRead, func(store checkpoint.Store) error {
		d, err := open(ctx, store)
		if err != nil {
			return err
		}
		if err := d.checkEnv(); err != nil {
			return err
		}
		names, err := a.recordedThreads(ctx, store, d.Name(), f)
		if err != nil {
			return err
		}
		redact := d.redactor()
		var all []evaluation
		for _, name := range names {
			began := time.Now()
			own, cancel := context.WithTimeout(ctx, f.timeout)
			e, err := evaluate(own, &session{app: a, store: store, thread: name, graph: d}, open)
			late := own.Err() != nil
			cancel()
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case late:
				e = evaluation{}
				e.fail("it took longer than %v", f.timeout)
			case err != nil:
				e.fail("%s", reports.Message(err))
			}
			e.Thread, e.Seconds = name, time.Since(began).Seconds()
			all = append(all, e.redacted(redact))
		}
		return a.printEvaluations(file, junit, all)
	})
}

// recordedThreads returns the names of the threads to run again.
func (a *app) recordedThreads(ctx context.Context, store checkpoint.Store, name string, f recordedFlags) ([]string, error) {
	var names []string
	for p, err := range graph.Threads(ctx, store, checkpoint.ThreadQuery{Where: map[string]string{"graph": name}}) {
		if err != nil {
			return nil, err
		}
		if len(f.threads) > 0 && !slices.Contains(f.threads, p.Thread) {
			continue
		}
		if len(names) == f.limit {
			a.Note("there are more than %d threads; --limit takes more", f.limit)
			break
		}
		names = append(names, p.Thread)
	}
	for _, want := range f.threads {
		if len(names) < f.limit && !slices.Contains(names, want) {
			return nil, reports.Usage(a.Command("threads")+" lists the threads of the store", "the graph %q has no thread %q", name, want)
		}
	}
	if len(names) == 0 {
		return nil, reports.Usage("name the store with --store", "the store has no thread of the graph %q", name)
	}
	return names, nil
}

// printEvaluations prints a table, and writes the JUnit file.
func (a *app) printEvaluations(file, junit string, all []evaluation) error {
	counts := map[string]int{}
	t := a.Table("THREAD", "RESULT", "SCORE", "WHY")
	suite := reports.Suite{Name: file}
	for _, e := range all {
		counts[e.Result]++
		score := ""
		if e.Score != nil {
			score = fmt.Sprint(e.Score)
		}
		if err := t.Add(e, e.Thread, e.Result, score, strings.Join(e.Why, "; ")); err != nil {
			return err
		}
		suite.Cases = append(suite.Cases, reports.Case{Name: e.Thread, Seconds: e.Seconds,
			Failed: e.Result == evaluatedFailed, Skipped: e.Result == evaluatedSkipped, Text: strings.Join(e.Why, "\n")})
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprintf(a.Stdout, "%s, %d failed, %d skipped\n", counted(len(all), "thread"), counts[evaluatedFailed], counts[evaluatedSkipped])
	}
	if junit != "" {
		if err := reports.WriteSuite(junit, suite); err != nil {
			return reports.CannotWrite(junit, err)
		}
	}
	if counts[evaluatedFailed] > 0 {
		return &reports.Failure{Code: reports.ExitFailed}
	}
	return nil
}

// runAgain runs the last turn of the thread again, on a copy in memory, from its recorded input and
// with its recorded answers. given is what a judge gets.
func (s *session) runAgain(ctx context.Context, open opening) (e evaluation, given map[string]json.RawMessage, err error) {
	head, err := graph.Inspect(ctx, s.store, checkpoint.Key{Thread: s.thread})
	if err != nil {
		return e, nil, err
	}
	if head.Status != graph.Done {
		return skipped("its last turn is %s", head.Status), nil, nil
	}
	began, answers, err := s.recordedTurn(ctx, head)
	if err != nil {
		return e, nil, err
	}
	if began == 0 {
		return skipped("the input of its last turn is not recorded by itself"), nil, nil
	}
	scratch := new(checkpoint.Memory)
	if err := checkpoint.Copy(ctx, s.store, s.thread, scratch, s.thread); err != nil {
		return e, nil, err
	}
	d, err := open(ctx, scratch)
	if err != nil {
		return e, nil, err
	}
	input, _, err := d.Thread(s.thread).State(ctx, began)
	if err != nil {
		return e, nil, err
	}
	end, _, err := d.Thread(s.thread).State(ctx, 0)
	if err != nil {
		return e, nil, err
	}
	e = evaluation{Result: evaluatedOK}
	if e.Want, err = s.outputOf(ctx, d, end); err != nil {
		return e, nil, err
	}
	res, err := d.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: s.thread, At: began})
	for err == nil && res.Status == graph.Interrupted {
		given, missing := answers.take(res.Interrupts)
		if missing != "" {
			e.fail("%s", missing)
			return e, nil, nil
		}
		res, err = d.Resume(ctx, given, graph.RunOptions{Thread: s.thread})
	}
	if err != nil {
		e.fail("the run failed: %s", reports.Message(err))
		return e, nil, ctx.Err()
	}
	if e.Got, err = s.outputOf(ctx, d, res.State); err != nil {
		return e, nil, err
	}
	return e, map[string]json.RawMessage{"got": e.Got, "want": e.Want, "state": input}, nil
}

// outputOf returns the output of a state as a JSON object.
func (s *session) outputOf(ctx context.Context, d declared, state json.RawMessage) (json.RawMessage, error) {
	out, err := d.output(ctx, s.thread, state)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// recordedAnswer is an answer that a commit has recorded.
type recordedAnswer struct {
	id   string
	data json.RawMessage
}

// recordedAnswers are those of a turn, in their order, that were not given yet.
type recordedAnswers []recordedAnswer

// recordedTurn returns the commit of the input of the newest turn, 0 if there is none, and the
// answers of the turn.
func (s *session) recordedTurn(ctx context.Context, head graph.CommitInfo) (began uint64, answers recordedAnswers, err error) {
	const slot = "answer/" // see graph.Config.Trace
	for snap, err := range s.store.History(ctx, checkpoint.Key{Thread: s.thread}, checkpoint.Query{}) {
		if err != nil {
			return 0, nil, err
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return 0, nil, err
		}
		if rec.Turn != head.Turn || rec.Branch != head.Branch {
			break
		}
		var own recordedAnswers
		for _, e := range rec.Trace {
			if id, ok := strings.CutPrefix(e.Slot, slot); ok {
				own = append(own, recordedAnswer{id, e.Data})
			}
		}
		answers = append(own, answers...)
		if rec.Source == checkpoint.Input {
			return snap.Seq, answers, nil
		}
	}
	return 0, nil, nil
}

// take returns answers to open questions: those that were recorded for them, or for one question
// that new code asks the next one. missing describes a question without an answer.
func (r *recordedAnswers) take(open []graph.Interrupt) (given graph.Answers, missing string) {
	for _, in := range open {
		if !in.IsQuestion() {
			continue // a static interrupt, which Resume passes
		}
		at := slices.IndexFunc(*r, func(a recordedAnswer) bool { return a.id == in.ID })
		if at < 0 && len(open) == 1 && len(*r) > 0 {
			at = 0
		}
		if at < 0 {
			return given, fmt.Sprintf("%s asks %q, to which no answer was recorded", in.Node, in.Prompt)
		}
		given = given.Answer(in.ID, (*r)[at].data)
		*r = slices.Delete(*r, at, at+1)
	}
	return given, ""
}
