package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// WithModel returns c with the functions that are nil set to functions that use a model: see
// [ModelExtract], [ModelMatch], [ModelPlan], [ModelAnswer], [ModelClarify] and [ModelExplain]. A
// temporary failure of the model makes the node run again.
func WithModel(c Config, m model.Model) Config {
	if c.Extract == nil {
		c.Extract = ModelExtract(m)
	}
	if c.Match == nil {
		c.Match = ModelMatch(m)
	}
	if c.Plan == nil {
		c.Plan = ModelPlan(m)
	}
	if c.Answer == nil {
		c.Answer = ModelAnswer(m)
	}
	if c.Clarify == nil {
		c.Clarify = ModelClarify(m)
	}
	if c.Explain == nil {
		c.Explain = ModelExplain(m)
	}
	return c
}

// historyTokens limits how much of a conversation a prompt contains.
const historyTokens = 8000

// history returns the newest part of a conversation as text.
func history(ms []message.Message) string {
	fit, err := message.Window{MaxTokens: historyTokens}.Fit(ms)
	if err != nil { // one message alone is larger: use only that one
		return agent.FormatMessages(ms[len(ms)-1:])
	}
	return agent.FormatMessages(fit.Messages)
}

// request returns a request with a role and sections with headings. Empty sections are left out.
func request(role string, sections ...string) model.Request {
	var b strings.Builder
	for i := 0; i+1 < len(sections); i += 2 {
		if text := strings.TrimSpace(sections[i+1]); text != "" {
			fmt.Fprintf(&b, "# %s\n\n%s\n\n", sections[i], text)
		}
	}
	return model.Request{Messages: []message.Message{message.System(role), message.User(strings.TrimSpace(b.String()))}}
}

// ModelExtract returns a Config.Extract that uses a model.
func ModelExtract(m model.Model) func(context.Context, ExtractRequest) (Task, error) {
	m = named(m)
	return func(ctx context.Context, r ExtractRequest) (Task, error) {
		var found strings.Builder
		for _, got := range r.Retrieved {
			fmt.Fprintf(&found, "## %s\n\n%s\n\n", got.Source, got.Text)
		}
		return model.Decode[Task](ctx, m, request("You write down what the user wants with the last message of a conversation, as one task that can be "+
			"understood without the conversation. Resolve what it refers to. Add nothing that was not asked for.",
			"Conversation", history(r.Messages), "What is known beside it", found.String(), "The last attempt failed", r.Previous))
	}
}

// ModelMatch returns a Config.Match that uses a model. It reports false for a capability without a
// matching guide, as the registry's warnings state.
func ModelMatch(m model.Model) func(context.Context, MatchRequest) (bool, error) {
	m = named(m)
	type verdict struct {
		Wanted bool   `json:"wanted" jsonschema:"whether the task needs this capability"`
		Reason string `json:"reason,omitempty" jsonschema:"one sentence"`
	}
	return func(ctx context.Context, r MatchRequest) (bool, error) {
		guide := r.Capability.Match
		if guide == nil {
			return false, nil
		}
		var examples strings.Builder
		for _, e := range guide.Examples {
			fmt.Fprintf(&examples, "- %q: %v, %s\n", e.Query, e.Wanted, e.Reason)
		}
		v, err := model.Decode[verdict](ctx, m, request("You decide whether a task needs one capability. Say yes only if the task cannot be done well without it.",
			"Capability", r.Capability.Name+": "+r.Capability.Description, "When it is wanted", guide.Instructions, "Examples", examples.String(),
			"Task", r.Task, "An earlier choice of capabilities failed", r.Previous))
		return v.Wanted, err
	}
}

// modelPlan is a plan as a model writes it.
type modelPlan struct {
	Steps []modelStep `json:"steps"`
}

type modelStep struct {
	ContextKey string         `json:"context_key,omitempty" jsonschema:"a unique name under which the step keeps what it makes"`
	Capability string         `json:"capability"`
	Objective  string         `json:"task_objective" jsonschema:"what this step is to achieve"`
	Success    string         `json:"success_criteria,omitempty"`
	Output     string         `json:"expected_output,omitempty" jsonschema:"the type of context that it makes"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Inputs     []modelInput   `json:"inputs,omitempty" jsonschema:"the contexts that it reads"`
	DependsOn  []string       `json:"depends_on,omitempty" jsonschema:"context keys of steps that must be done before; where a step has it, those that wait for nothing run side by side"`
}

type modelInput struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

func (p modelPlan) plan() (out agent.Plan) {
	for _, s := range p.Steps {
		step := agent.Step{ContextKey: s.ContextKey, Capability: s.Capability, Objective: s.Objective, Success: s.Success,
			ExpectedOutput: s.Output, Parameters: s.Parameters, DependsOn: s.DependsOn}
		for _, in := range s.Inputs {
			step.Inputs = append(step.Inputs, ref(in.Type, in.Key))
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// ModelPlan returns a Config.Plan that uses a model.
func ModelPlan(m model.Model) func(context.Context, PlanRequest) (agent.Plan, error) {
	m = named(m)
	return func(ctx context.Context, r PlanRequest) (agent.Plan, error) {
		reuse := ""
		if r.Task.DependsOnChatHistory || r.Task.DependsOnUserMemory {
			reuse = "The task refers to what was said or found before: use the contexts that there are rather than making them again."
		}
		p, err := model.Decode[modelPlan](ctx, m, request("You plan how a task is done, step by step, with these capabilities and no others. Each step that makes "+
			"something has a context_key of its own. A step reads only contexts that there are or that an earlier step makes. The last step is "+
			agent.ToRespond+", which answers the user with its inputs, or "+agent.ToClarify+", which asks back; no other step is one of these.",
			"Task", r.Task.Text, "Hint", reuse, "Capabilities", capabilityText(r.Capabilities), "Contexts that there are", r.Known,
			"Conversation", history(r.Messages), "The last plan failed; mend all of this", r.Previous))
		return p.plan(), err
	}
}

func capabilityText(infos []capabilities.Info) string {
	var b strings.Builder
	for _, i := range infos {
		fmt.Fprintf(&b, "## %s\n\n%s\n\nIt needs as inputs: %s. It makes: %s.\n", i.Name, i.Description, names(i.Requires), names(i.Provides))
		if i.Plan == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", i.Plan.Instructions)
		for _, e := range i.Plan.Examples {
			step, err := json.Marshal(e.Step)
			if err != nil {
				step = []byte(err.Error())
			}
			fmt.Fprintf(&b, "\nExample (%s): %s %s\n", e.Scenario, step, e.Notes)
		}
	}
	return b.String()
}

func names(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// ModelAnswer returns a Config.Answer that uses a model and streams the answer: see
// [graph.EmitMessage].
func ModelAnswer(m model.Model) func(context.Context, AnswerRequest) (string, error) {
	m = named(m)
	return func(ctx context.Context, r AnswerRequest) (string, error) {
		req := answerPrompt(r, "You answer the user, from what was found and from nothing else. Say what is missing. "+
			"Where nothing was looked up, talk and claim no facts.")
		return stream(ctx, m, req, r.ID)
	}
}

// ModelTalk returns a Config.Answer that sends the newest part of the conversation to a model, and
// nothing else. It is for an agent without capabilities, and streams the answer as [ModelAnswer]
// does.
func ModelTalk(m model.Model) func(context.Context, AnswerRequest) (string, error) {
	m = named(m)
	return func(ctx context.Context, r AnswerRequest) (string, error) {
		said := r.Messages
		if fit, err := (message.Window{MaxTokens: historyTokens}).Fit(said); err == nil {
			said = fit.Messages
		} else { // one message alone is larger
			said = said[len(said)-1:]
		}
		return stream(ctx, m, model.Request{Messages: said}, r.ID)
	}
}

// stream calls a model, and emits its text if the message has an ID.
func stream(ctx context.Context, m model.Model, req model.Request, id string) (string, error) {
	req.ID = id
	f := model.Fold{Request: req}
	for c, err := range m.Stream(ctx, req) {
		if err == nil {
			err = f.Add(c)
		}
		if err == nil && c.Text != "" && id != "" {
			err = graph.EmitMessage(ctx, graph.Token{ID: id, Role: string(message.RoleAssistant), Delta: c.Text})
		}
		if err != nil {
			return "", err
		}
	}
	said, err := f.Response()
	if err != nil {
		return "", err
	}
	text := said.Message.Text()
	if id != "" {
		err = graph.EmitMessage(ctx, graph.Token{ID: id, Role: string(message.RoleAssistant), Final: true, Text: text})
	}
	return text, err
}

func answerPrompt(r AnswerRequest, role string) model.Request {
	var found strings.Builder
	for _, f := range r.Found {
		data, err := json.Marshal(f)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&found, "%s\n", data)
	}
	shown := ""
	if n := len(r.Figures) + len(r.Commands); n > 0 {
		shown = fmt.Sprintf("%d figures and %d commands are shown next to the answer.", len(r.Figures), len(r.Commands))
	}
	return request(role, "Task", r.Task, "This step", r.Step.Objective, "Steps that were done", strings.Join(r.Done, "\n"), "What was found", found.String(),
		"What is missing", strings.Join(r.Missing, "\n"), "Shown beside it", shown, "Date", r.Time.Format("Monday, 2 January 2006"), "Conversation", history(r.Messages))
}

// ModelClarify returns a Config.Clarify that uses a model.
func ModelClarify(m model.Model) func(context.Context, AnswerRequest) (Clarification, error) {
	m = named(m)
	return func(ctx context.Context, r AnswerRequest) (Clarification, error) {
		return model.Decode[Clarification](ctx, m, answerPrompt(r, "The task cannot be done as written. Ask the user one to four short questions, whose answers are enough to do it."))
	}
}

// ModelExplain returns a Config.Explain that uses a model, for a few sentences.
func ModelExplain(m model.Model) func(context.Context, Report) (string, error) {
	m = named(m)
	return func(ctx context.Context, r Report) (string, error) {
		req := request("You explain to a user in at most three sentences why a task could not be done, and what may help. Do not repeat the report.", "Report", r.String(), "Details", r.Details)
		req.MaxTokens = 500
		said, err := model.Generate(ctx, m, req)
		return said.Message.Text(), err
	}
}

// ModelDecide returns an Agent.Decide that uses a model. Only a plain yes is an approval. An
// unclear answer or a failure of the model decides nothing.
func ModelDecide(m model.Model) func(context.Context, graph.Interrupt, string) (graph.Decision, bool, error) {
	type reading struct {
		Decision string `json:"decision" jsonschema:"approve, reject, or unclear where it is neither without any doubt or depends on a condition"`
		Feedback string `json:"feedback,omitempty" jsonschema:"with reject: why not, in the person's own words"`
	}
	return func(ctx context.Context, q graph.Interrupt, text string) (graph.Decision, bool, error) {
		got, err := model.Decode[reading](ctx, m, request("You read whether a person said yes or no to a question. A condition, a change or a question back is unclear.",
			"Question", q.Prompt+"\n\n"+q.Detail, "Answer", text))
		switch v := graph.DecisionType(got.Decision); {
		case err != nil || v != graph.DecisionApprove && v != graph.DecisionReject:
			return graph.Decision{}, false, err
		case v == graph.DecisionApprove:
			return graph.Decision{Type: v}, true, nil
		}
		return graph.Decision{Type: graph.DecisionReject, Message: got.Feedback}, true, nil
	}
}
