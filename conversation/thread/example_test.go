package thread_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
)

type quest struct {
	Room  string
	Coins int
}

func Example() {
	ctx := context.Background()
	var docs document.Map // or sqlite, redis or postgres: (*Store).Documents
	m, err := thread.NewManager(thread.NewRepository[quest](&docs), thread.Options{Strategy: thread.Implicit})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		// The application, before each run.
		err = m.SetConfig(ctx, "t1", thread.Config{"enabledTools": []string{"dice"}, "historyLimit": 20})
		// The agent, in each run.
		err = errors.Join(err, m.Run(ctx, func(s *thread.Session[quest]) error {
			t, err := s.Load(ctx, "t1")
			if err != nil {
				return err
			}
			if err := s.Init(ctx, t, func() quest { return quest{Room: "hall"} }); err != nil {
				return err
			}
			limit, _, err := thread.Value[int](s.ConfigValue(ctx, "t1", "historyLimit"))
			fmt.Println(t.State.Data.Room, t.State.Data.Coins, t.State.Version, s.IsToolEnabled(ctx, "t1", "dice"), limit, err)
			t.State.Data.Coins++ // saved when the run ends
			return nil
		}))
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// hall 0 1 true 20 <nil>
	// hall 1 2 true 20 <nil>
}
