// Package pollers counts the workers that poll a task queue.
package pollers

import (
	"context"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"
)

// recent bounds the age of the newest poll of a worker that lives: a poll takes up to a minute, and
// a server lists workers for five.
const recent = 70 * time.Second

// Count asks the server how many workers poll a task queue. A worker that died in the last 70
// seconds counts. ctx bounds the call.
func Count(ctx context.Context, c client.Client, queue string, kind enums.TaskQueueType) (int, error) {
	d, err := c.DescribeTaskQueue(ctx, queue, kind)
	if err != nil {
		return 0, err
	}
	return living(d.GetPollers(), time.Now()), nil
}

func living(all []*taskqueue.PollerInfo, now time.Time) int {
	names := map[string]bool{} // a worker has several polls
	for _, p := range all {
		if now.Sub(p.GetLastAccessTime().AsTime()) < recent {
			names[p.GetIdentity()] = true
		}
	}
	return len(names)
}
