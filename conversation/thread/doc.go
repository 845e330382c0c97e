// Package thread keeps what an application knows of a conversation thread outside of its
// graph: its configuration, which the application sets, and the state of its agent, which
// the agent sets. Both are one record with versions, in documents on any store.
//
//	repo := thread.NewRepository[Game](docs)  // docs is a document.Store
//	m, err := thread.NewManager(repo, thread.Options{Strategy: thread.Implicit})
//
//	// The application, before each run:
//	err = m.SetConfig(ctx, "t1", thread.Config{"enabledTools": []string{"dice"}, "historyLimit": 20})
//
//	// The agent, in each run:
//	err = m.Run(ctx, func(s *thread.Session[Game]) error {
//		t, err := s.Load(ctx, "t1")
//		if err != nil {
//			return err
//		}
//		if err := s.Init(ctx, t, newGame); err != nil { // the first time
//			return err
//		}
//		if s.IsToolEnabled(ctx, "t1", "dice") {
//			t.State.Data.Room = "cellar" // saved when the run ends
//		}
//		return nil
//	})
//
// The nouns are few. A [Repository] reads and writes records. A [Thread] is one: a [Config] and
// a [State]. A [Manager] has a [Strategy], and each run works in a [Session] of its own.
//
// With [Explicit], which is the default, every Load reads the store, and what is not given to
// SetState is lost. With [Implicit], a session keeps the threads that it loaded, the same
// instance for every Load, and saves those whose state was edited. A session ends with its
// run, and what it kept with it: later runs see what others wrote.
//
// # Duties
//
//  1. A thread begins with SetConfig. Nothing else makes one.
//  2. SetConfig keeps the state, SetState keeps the configuration, on the store and in a session.
//  3. State.Version grows by one with every save, from 1. Who saves what was made from an
//     older version gets an ErrConflict, and nothing is written.
//  4. States are compared by what they say: neither the order of names nor the way a number is
//     written makes a save, and everything else does.
//  5. A tool is enabled if the configuration could be read and lists it, and in no other case.
//  6. Nothing becomes nothing by mistake: ClearState is a call of its own.
//
// # What it does not do
//
// The state of a graph is not kept here: the engine commits it after each step. A session
// does not lock a thread; of two runs that change one state, the later one to save is told so.
package thread
