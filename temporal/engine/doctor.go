package engine

import (
	"context"
	"fmt"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/temporal"
	"github.com/weftrun/weft/temporal/internal/pollers"
)

// unasked is the finding about what the server does not answer.
func unasked(f checkpoint.Finding, err error) checkpoint.Finding {
	f.Severity, f.Cost = checkpoint.Note, "the server cannot be asked: "+err.Error()
	f.Advice = "see that it runs, and that this client has the right to ask"
	return f
}

// examineServer examines the server.
func (e *engine) examineServer(ctx context.Context) checkpoint.Finding {
	f := checkpoint.Finding{Subject: "server", Value: e.host}
	info, err := e.conn.WorkflowService().GetClusterInfo(ctx, &workflowservice.GetClusterInfoRequest{})
	if err != nil {
		return unasked(f, err)
	}
	f.Cost = "it answers, and runs Temporal " + info.GetServerVersion()
	return f
}

// examineNamespace examines the namespace.
func (e *engine) examineNamespace(ctx context.Context) checkpoint.Finding {
	f := checkpoint.Finding{Subject: "namespace", Value: e.namespace}
	d, err := e.describeNamespace(ctx)
	if err != nil {
		return unasked(f, err)
	}
	f.Cost = fmt.Sprintf("it has the histories of its turns for %v after they have ended", d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
	return f
}

// examineQueue examines who polls the task queue for workflows or activities.
func (e *engine) examineQueue(ctx context.Context, what string, kind enums.TaskQueueType) checkpoint.Finding {
	f := checkpoint.Finding{Subject: "task queue, " + what, Value: e.taskQueue()}
	n, err := pollers.Count(ctx, e.conn, e.taskQueue(), kind)
	switch {
	case err != nil:
		return unasked(f, err)
	case n == 0:
		f.Severity, f.Cost = checkpoint.Warning, "no worker polls it, so runs wait"
		f.Advice = "start one with the verb worker, the same --engine and the same --store"
	default:
		f.Cost = fmt.Sprintf("workers that poll it: %d", n)
	}
	return f
}

// attributes are the search attributes of ClientConfig.SearchAttributes.
var attributes = []sdk.SearchAttributeKey{temporal.GraphAttribute, temporal.StatusAttribute, temporal.InterruptedAttribute, temporal.OwnerAttribute}

// examineAttributes examines the search attributes.
func (e *engine) examineAttributes(ctx context.Context) checkpoint.Finding {
	f := checkpoint.Finding{Subject: "search attributes"}
	known, err := e.conn.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: e.namespace})
	var names, missing, create []string
	for _, key := range attributes {
		names = append(names, key.GetName())
		if known.GetCustomAttributes()[key.GetName()] != key.GetValueType() {
			missing = append(missing, key.GetName())
			create = append(create, fmt.Sprintf("--name %s --type %s", key.GetName(), key.GetValueType()))
		}
	}
	f.Value = strings.Join(names, ", ")
	switch {
	case err != nil:
		return unasked(f, err)
	case len(missing) > 0:
		f.Severity, f.Value = checkpoint.Note, "the namespace lacks "+strings.Join(missing, ", ")
		f.Cost = "a program with ClientConfig.SearchAttributes cannot find turns by them; this command line sets none"
		f.Advice = "for such a program: temporal operator search-attribute create --namespace " + e.namespace + " " + strings.Join(create, " ")
	default:
		f.Cost = "the namespace has them, for programs with ClientConfig.SearchAttributes"
	}
	return f
}
