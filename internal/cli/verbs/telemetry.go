package verbs

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// TelemetryOpener starts an export of traces and metrics to an address, for --otlp. It returns the
// observer of the graphs, and a function that sends what is left and ends the export.
type TelemetryOpener = func(ctx context.Context, address string) (graph.Observer, func(context.Context) error, error)

// ErrNoTelemetry is the error of --otlp in a program that exports nothing.
var ErrNoTelemetry = errors.New("this program does not export traces")

// telemetryProgram is the command line with an export.
const telemetryProgram = "github.com/weftrun/weft/otel/cmd/weft"

// telemetryWait bounds the time in which the last spans are sent.
const telemetryWait = 5 * time.Second

// telemetry is the export of a command.
type telemetry struct {
	observer graph.Observer // nil until it is opened
	close    func(context.Context) error
}

// otlpFlag adds the flag --otlp to the verbs that run graphs.
func (a *app) otlpFlag(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().StringVar(&a.grants.otlp, "otlp", "", "send traces and metrics to the OpenTelemetry collector at a URL, or at that of the environment (env)")
	}
}

// observed returns a graph whose runs are observed, if the command line asks for it.
func (a *app) observed(ctx context.Context, d declared) (declared, error) {
	if a.grants.otlp == "" {
		return d, nil
	}
	if a.telemetry.observer == nil {
		open := a.config.Telemetry
		if open == nil {
			return d, reports.Usage("use the program "+telemetryProgram+", this command line with the export: go install "+telemetryProgram+
				"@latest; a program of your own names it in weftcli.Config.Telemetry", "%w", ErrNoTelemetry)
		}
		o, closes, err := open(ctx, a.grants.otlp)
		if err != nil {
			return d, reports.Usage("write it as --otlp http://localhost:4318, or --otlp env", "--otlp: %w", err)
		}
		a.telemetry = telemetry{o, closes}
	}
	if d.Untyped = graph.Observed(d.Untyped, a.telemetry.observer); d.agent != nil {
		d.agent = d.agent.On(d.Untyped)
	}
	return d, nil
}

// closeTelemetry sends what is left. A failure changes nothing else: the runs have ended.
func (a *app) closeTelemetry() {
	if a.telemetry.close == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryWait)
	defer cancel()
	if err := a.telemetry.close(ctx); err != nil {
		a.Note("the last traces or metrics were not sent: %s", reports.OneLine(reports.Message(err)))
	}
}
