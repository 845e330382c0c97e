// Package agent is the state of an agent and what reads and writes it: the conversation, what the
// agent knows, the task, the plan and how far it has come.
//
//	type Desk struct {
//		agent.State                              // its fields keep their names on the wire
//		Station state.Value[string] `json:"station"`
//	}
//
//	type Rainfall struct {
//		Column string    `json:"column"`
//		Until  time.Time `json:"until"`
//	}
//
//	func (Rainfall) ContextType() string { return "RAINFALL" }
//
//	types, err := agent.NewTypes(agent.TypeOf[Rainfall]())
//	m := agent.Manager{Types: types, Clock: time.Now}
//
//	func find(ctx context.Context, s *Desk) error {
//		step, err := m.CurrentStep(&s.State)
//		if err != nil {
//			return err
//		}
//		return m.StoreOutput(&s.State, step, Rainfall{Column: "precipitation"})
//	}
//
// # The nouns
//
//   - [State] is a struct of channels to embed, in groups: [Task], [Planning], [Execution],
//     [Approval], [Control], [UI]. Messages, contexts and what is called session belong to the
//     thread; all else belongs to the turn, and the runtime resets it when a new input starts one.
//   - A [Manager] reads and writes it: [Manager.CreateFresh] begins a turn, [Manager.StoreContext]
//     keeps what was found, [Manager.CurrentStep] says what is to be done, [Manager.StepDone] and
//     [Manager.StepFailed] what became of it.
//   - A [Context] is a typed piece of knowledge. [Types] registers each type once; [Contexts]
//     finds them again: [Get], [All], and [Inputs] for those that a step names, all of them and in
//     the order of the plan.
//   - A [Plan] is a list of [Step], or by DependsOn a graph of them; [Plan.Validate] reports all that is wrong
//     with it, [Manager.Due] says which steps can be done now, and [Manager.Note] and [Manager.Settle] what
//     became of those that ran side by side.
//   - A [Failure] says with its [Severity] what is to happen next; [Route] decides.
//   - [Settings] say how the agent works, in layers: defaults, thread, turn.
//
// # Laws
//
//  1. All state is plain data. What has no JSON form is an error when it is stored, not later.
//  2. A manager writes only to the view it was given, and of that only what its method names:
//     a node that stores and then fails leaves nothing.
//  3. Not found, of an unknown type, and corrupt are three errors.
//  4. What was asked for and is missing is an error; nothing else stands in for it.
//  5. What the agent knows after a turn is what it knew before, what it learned, and less only what it
//     was told to forget.
//  6. Nothing here does I/O, reads a clock that was not given to it, or starts a goroutine.
//
// # What it does not do
//
// It runs no graph and asks no model. Its functions are not safe for concurrent use on one view;
// give each task its own, as the runtime does.
package agent
