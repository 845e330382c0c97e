// Package budget limits what the calls of models cost, in all processes that share a store, and
// records what they spent.
//
//	limiter, err := budget.Open(store, budget.Config{
//		Currency: "EUR",
//		Prices: budget.Prices{ // of a million tokens
//			"gpt-5-mini": {Input: budget.Unit / 4, Output: 2 * budget.Unit},
//		},
//		Limits: []budget.Limit{{
//			Name: "month", By: "metadata.tenant", Per: budget.Month,
//			Most:  budget.Amount{Money: 50 * budget.Unit},
//			Raise: budget.Amount{Money: 5 * budget.Unit}, // if a person agrees
//		}, {
//			Name: "pace", By: budget.ByModel, Concurrency: 4,
//			Rate: budget.Rate{Calls: 60, Per: time.Minute},
//		}},
//	})
//	m := limiter.Model("gpt-5-mini", client) // a model.Model, for nodes and agents
//	…
//	records, err := limiter.Usage(ctx, budget.Range{From: monday})
//
// A call of m first reserves what it may cost, in each limit that applies to it. When it has ended,
// it settles: what the provider reports replaces the reservation. A call that exceeds a limit is
// not made. It fails with an [*Error], or asks a person if the limit has a Raise.
//
// # Terms
//
//   - A [Limit] bounds an [Amount] of calls, tokens and money in a [Period], a [Rate] of calls, and
//     how many run at once. It holds for each key: for each thread, each model, each value of a
//     name in RunOptions.Metadata, or for all calls together.
//   - A [Reservation] is what a call may spend until it settles. [Limiter.Model] makes and settles
//     it; [Limiter.Reserve] is for what is paid otherwise, such as a search.
//   - [Money] counts millionths of a currency, and is never a float. [Prices] come from the caller.
//   - A [Record] is what a thread spent with a model on a day.
//
// # What it guarantees
//
//  1. Calls that run at once, in any number of processes, do not exceed a limit of calls, tokens or
//     money: all spending and all reservations together stay within it. Only a call that costs more
//     than it reserved exceeds it, by the difference: see Config.Answer.
//  2. What a call settles is counted once, also if the reply of the store is lost.
//  3. A process that dies during a call leaves the reservation. It counts as spent, because the
//     provider may have billed it. When the task runs again, it is recorded as lost. A call that is
//     made again costs again, as at the provider. A result that the graph has stored costs nothing,
//     because the model is not called.
//  4. A dead process releases its place of a Concurrency when its task runs again, or else after
//     Config.Lease.
//  5. An answer raises a limit once, also if the process dies after it. Questions that were asked
//     in the same state of a limit raise it once together.
//  6. A reservation whose reply is lost, or whose context ends before it, makes no call and is
//     removed at once. If the store is away, the next call with one of its keys in the same process
//     removes it. Until then it is reserved; if the process dies before, it counts as lost. A Rate
//     counts it as a call that began.
//  7. A reservation is one write to the store, one round trip, and so is its end. The first use of
//     a key in a process reads before, and so does a refusal. A write that another process came
//     before is repeated.
//
// # Limits
//
// A node that asks runs again from its top, and so do its calls before the question, unless each
// is in a graph.Call, as those of package react are.
//
// All limits of a [Config.Name] are in one partition of the documents, so that they change at once;
// its writes follow one another. Use several names for more than some hundred calls a second.
// Periods are those of UTC. The first process whose clock reaches a period begins it for all: a
// clock that is up to 5 minutes late counts in the new period. One that is later begins the old
// period again, and what was spent counts from 0. Rates compare the clocks of the processes.
package budget
