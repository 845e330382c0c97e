// Package storetest has what the tests of stores share. Only tests import it.
//
//   - The cost of a run: round trips ([Trips]), bytes ([Bytes]), room ([Room]), and growth with the
//     size of the state ([Growth]). A backend passes the store and its counters:
//
//     storetest.Trips(t, store, proxy.trips.Load)
//     storetest.Bytes(t, store, map[string]func() int64{"on the wire": proxy.bytes.Load})
//
//   - A network that swallows bytes ([Network]), and every call of a store ([Calls]), for tests that no
//     call waits for such a network without a bound.
//
//   - A store whose writes fail ([FailingStore]), for tests of crashes.
//
//   - A disk that is soon full ([RunOnSmallDisk]), on Linux.
//
//   - Free ports for servers that tests start ([StartOnPort]).
//
// What checkpointtest requires of a single call, this package requires of whole runs.
package storetest
