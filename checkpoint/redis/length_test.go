package redis_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/internal/servicetest"
)

// count returns a number of a server's INFO.
func count(t *testing.T, info, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `(\d+)`).FindStringSubmatch(info)
	if m == nil {
		t.Fatalf("the server does not report %s", name)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestServer_WorkDoesNotGrowWithAThread counts the server's calls and bytes. A clock would
// measure how busy the machine is.
func TestServer_WorkDoesNotGrowWithAThread(t *testing.T) {
	c := start(t).client(t) // which sends nothing again that is merely slow
	repo := repositoryOf(t, storeOf(t, c, redis.Config{}))
	const reads = 50
	sent := map[int]float64{}
	for _, n := range []int{100, 10_000} {
		servicetest.Fill(t, repo, strconv.Itoa(n), n)
		get := func() {
			ms, err := repo.Get(t.Context(), strconv.Itoa(n), conversation.Options{Limit: new(20)})
			if err != nil || len(ms) != 20 {
				t.Fatalf("got %d messages, %v", len(ms), err)
			}
		}
		get() // the server learns the script
		if err := c.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		for range reads {
			get()
		}
		commands := c.Info(t.Context(), "commandstats").Val()
		for name, want := range map[string]float64{"evalsha": reads, "zrevrangebylex": reads, "hget": 20 * reads} {
			if got := count(t, commands, "cmdstat_"+name+":calls="); got != want {
				t.Errorf("rule: the last 20 of %d are as many commands as those of any other thread\n got: %v %s\nwant: %v", n, got, name, want)
			}
		}
		sent[n] = count(t, c.Info(t.Context(), "stats").Val(), "total_net_output_bytes:")
	}
	if few, many := sent[100], sent[10_000]; many > 1.1*few { // the ids are two digits longer
		t.Errorf("rule: the last 20 are as many bytes however long the thread is\n got: %v of 100, %v of 10,000", few, many)
	}
}
