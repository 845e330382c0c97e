// Package agent defines the state of an agent and the functions that read and write it: the
// conversation, the contexts (what the agent knows), the task, the plan and its progress.
//
//	type Station struct {
//		agent.State                              // its fields keep their names on the wire
//		Name state.Value[string] `json:"station"`
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
//	m := agent.StateManager{Types: types, Clock: time.Now}
//
//	func find(ctx context.Context, s *Station) error {
//		step, err := s.State.Planning.CurrentStep()
//		if err != nil {
//			return err
//		}
//		return m.StoreOutput(&s.State, step, Rainfall{Column: "precipitation"})
//	}
//
// # Types
//
//   - [State] is a struct of channels to embed, in groups: [Task], [Planning], [Execution],
//     [Approval], [Control], [UI]. Messages, contexts and the fields named session belong to the
//     thread. All other fields belong to the turn: the runtime resets them when a new input starts
//     a turn.
//   - A [StateManager] reads and writes a State. [StateManager.CreateFresh] starts a turn, and
//     [StateManager.StoreContext] stores a context.
//   - A [Context] is a typed piece of knowledge. [Types] registers each type once. [Contexts] reads
//     them: [Get] returns one, [All] those of a type, and [Inputs] those that a step names, in the
//     order of the plan.
//   - A [Plan] is a list of [Step] values or, with DependsOn, a graph of them. [Plan.Validate]
//     reports all problems, and [Planning.CurrentStep] returns the step to run. [Steps] records
//     results: [Steps.Done] and [Steps.Failed] that of the current step, [Steps.Record] and
//     [Steps.Settle] those of steps that ran in parallel. [Steps.Due] returns the steps that can
//     run.
//   - A [Display] adds what people see of a turn: figures, commands, status updates.
//   - A [Failure] has a [Severity], from which [Route] chooses the next node.
//   - [Settings] configure the agent in layers: defaults, thread, turn.
//
// # Guarantees
//
//  1. All state is plain data. Storing a value without a JSON form is an error at once.
//  2. A manager writes only to its view, and only the fields that the method documents. A node that
//     stores a value and then fails leaves no write.
//  3. A missing context, an unknown type and a corrupt context are three different errors.
//  4. A missing context that the caller names is an error. No other context replaces it.
//  5. After a turn the agent knows all contexts from before and the new ones, except those that a
//     node deleted.
//  6. The package does no I/O, reads no clock but [StateManager].Clock, and starts no goroutine.
//
// # Limits
//
// The package runs no graph and calls no model. Its functions are not safe for concurrent use on
// one view; give each task its own view, as the runtime does.
package agent
