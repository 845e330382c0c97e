package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/cli/reports"
)

func (a *app) doctorVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look at the store: what is set up so that it costs work, speed or room",
		Long: `Doctor examines the store and lists its findings, the most severe first, each with what
to do about it. With --engine it then examines the server of the engine too: whether it
answers, its namespace, and who polls the task queue. It changes nothing. The exit code is 1 if anything is a warning
or a danger, else 0.`,
		Args: a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	if a.grants.engine == "" {
		return a.doctorOfStore(ctx)
	}
	open, err := a.engineOpener()
	if err != nil {
		return err
	}
	err = a.doctorOfStore(ctx)
	if found := (*reports.Failure)(nil); err != nil && (!errors.As(err, &found) || found.Err != nil) {
		return err
	}
	return cmp.Or(a.findings(a.doctorOfEngine(ctx, open)), err)
}

// doctorOfEngine returns the findings about the engine.
func (a *app) doctorOfEngine(ctx context.Context, open EngineOpener) []checkpoint.Finding {
	e, err := open(ctx, EngineConfig{})
	if err != nil {
		f := checkpoint.Finding{Severity: checkpoint.Danger, Subject: "engine", Value: reports.WithoutPassword(a.grants.engine), Cost: "no run is carried out: " + a.Public(reports.OneLine(err.Error()))}
		if usage := (*reports.Failure)(nil); errors.As(err, &usage) {
			f.Cost, f.Advice = "no run is carried out: "+a.Public(reports.OneLine(errors.Unwrap(usage.Err).Error())), usage.Next
		}
		return []checkpoint.Finding{f}
	}
	a.runner = e // closed with the command
	list := e.Doctor(ctx)
	slices.SortStableFunc(list, func(a, b checkpoint.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return list
}

// doctorOfStore prints the findings about the store.
func (a *app) doctorOfStore(ctx context.Context) error {
	if path, missing := a.missingFile(); missing {
		return a.findings([]checkpoint.Finding{missingFinding(path)})
	}
	opened := false
	err := withStore(ctx, a.open, func(store checkpoint.Store) error {
		opened = true
		e, ok := checkpoint.Unwrap(store).(checkpoint.Examiner)
		if !ok {
			return a.findings([]checkpoint.Finding{{
				Severity: checkpoint.Note, Subject: "store", Value: fmt.Sprintf("%T", store),
				Cost: "it cannot be asked about itself, so all that is known is that it opens",
			}})
		}
		list, err := e.Doctor(ctx)
		if err != nil {
			return err
		}
		return a.findings(list)
	})
	if errors.Is(err, checkpoint.ErrUnavailable) && ctx.Err() == nil {
		return a.findings([]checkpoint.Finding{a.dead(opened, err)})
	}
	return err
}

// missingFinding is the finding for a store that is a file which does not exist yet.
func missingFinding(path string) checkpoint.Finding {
	f := checkpoint.Finding{Subject: "file", Value: path, Cost: "it is not there yet; the first run makes it"}
	if err := mayCreate(filepath.Dir(path)); err != nil {
		f.Severity, f.Cost = checkpoint.Danger, "it is not there yet, and cannot be made: "+err.Error()
		f.Advice = "check the path and its permissions, or name another file with --store sqlite:PATH"
	}
	return f
}

// mayCreate returns why nothing can be created in a folder, which may not exist either. It makes a
// folder and removes it.
func mayCreate(dir string) error {
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	made, err := os.MkdirTemp(dir, ".weft-*")
	if err != nil {
		return err
	}
	return os.Remove(made)
}

// dead is the finding for a store that does not open, or that opens and then fails.
func (a *app) dead(opened bool, err error) checkpoint.Finding {
	address, _ := a.address() // it was parsed before
	f := checkpoint.Finding{
		Severity: checkpoint.Danger, Subject: "store", Value: reports.WithoutPassword(address),
		Cost:   "nothing can be run, resumed or read: " + a.Public(reports.OneLine(reports.WithoutPackage(err))),
		Advice: fmt.Sprintf("start the server, and check the address and the password in --store or $%s", reports.StoreVariable),
	}
	if opened {
		f.Cost = "it opens, and could not be asked about itself: " + a.Public(reports.OneLine(reports.WithoutPackage(err)))
		f.Advice = "try again, and look at the server's log"
	}
	if a.storeIs("sqlite") && !opened {
		f.Advice = "check the path and its permissions, or name another file with --store sqlite:PATH"
	}
	return f
}

// findings prints the findings, and fails if one is a warning or a danger.
func (a *app) findings(list []checkpoint.Finding) error {
	bad := 0
	for _, f := range list {
		if f.Severity >= checkpoint.Warning {
			bad++
		}
		if err := a.finding(f); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &reports.Failure{Code: reports.ExitFailed}
	}
	return nil
}

func (a *app) finding(f checkpoint.Finding) error {
	if a.JSON {
		return a.PrintJSON(f)
	}
	_, err := fmt.Fprintf(a.Stdout, "%-8s %s: %s\n         %s\n", f.Severity, reports.Cell(f.Subject), reports.Cell(f.Value), f.Cost)
	if err == nil && f.Advice != "" {
		_, err = fmt.Fprintf(a.Stdout, "         do: %s\n", f.Advice)
	}
	return err
}
