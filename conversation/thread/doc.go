// Package thread stores two things about a conversation thread outside of its graph: the
// configuration, which the application sets, and the state of its agent, which the agent sets. Both
// are in one versioned record, in any document store.
//
//	repo := thread.NewRepository[Game](docs)  // docs is a document.Store
//	m, err := thread.NewManager(repo, thread.Options{Strategy: thread.Implicit})
//
//	// The application, before each run:
//	err = m.SetConfig(ctx, "t1", thread.Config{"enabledTools": []string{"dice"}})
//
//	// The agent, in each run:
//	err = m.Run(ctx, func(s *thread.Session[Game]) error {
//		t, err := s.Load(ctx, "t1")
//		if err != nil {
//			return err
//		}
//		if err := s.Init(ctx, t, newGame); err != nil { // sets the first state
//			return err
//		}
//		if s.IsToolEnabled(ctx, "t1", "dice") {
//			t.State.Data.Room = "cellar" // saved when the run ends
//		}
//		return nil
//	})
//
// A [Repository] reads and writes records. A [Thread] is a record: a [Config] and a [State]. A
// [Manager] has a [Strategy], and each run uses its own [Session].
//
// With [Explicit], the default, every Load reads the store, and only SetState saves a state. With
// [Implicit], every Load of a session returns the same instance, and the session saves the states
// that were edited. The loaded threads end with the session, so a later run sees the changes of
// other writers.
//
// # Guarantees
//
//  1. Only SetConfig creates a thread.
//  2. SetConfig does not change the state and SetState does not change the configuration, in the
//     store and in a session.
//  3. State.Version starts at 1 and grows by one with every save. Saving a state that was made from
//     an older version returns an ErrConflict and writes nothing. A state with Version 0 replaces
//     any stored state.
//  4. States are compared by value: another order of names or notation of numbers is not an edit.
//  5. A tool is enabled only if the configuration can be read and lists it.
//  6. Only ClearState removes a state. Setting it to nil does not.
//
// # What it does not do
//
// It does not store the state of a graph: the engine commits that after each step. A session does
// not lock a thread. If two runs change one state, the later save returns an ErrConflict.
package thread
