package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/tasks"
)

func Example() {
	ctx := context.Background()
	var docs document.Map // or sqlite, redis or postgres: (*Store).Documents
	board := tasks.NewBoard(&docs)
	poet := tasks.WorkerFunc(func(_ context.Context, t tasks.Task) (tasks.Outcome, error) {
		if t.Answer == nil {
			return tasks.Outcome{Status: tasks.Waiting, Question: json.RawMessage(`"Shall it rhyme?"`)}, nil
		}
		return tasks.Outcome{Result: json.RawMessage(`"Roses are red"`)}, nil
	})
	_, err := board.Create(ctx, tasks.Task{ID: "t-1", Target: "poet", Type: "poem"})
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := board.Run(ctx, "t-1", poet)
	fmt.Println(task.Status, string(task.Question), err)
	task, err = board.Resume(ctx, "t-1", json.RawMessage(`true`), poet)
	fmt.Println(task.Status, string(task.Result), err)
	_, err = board.Cancel(ctx, "t-1", "too late")
	fmt.Println(err)
	// Output:
	// waiting "Shall it rhyme?" <nil>
	// completed "Roses are red" <nil>
	// tasks: no such transition: task "t-1" from completed to cancelled
}
