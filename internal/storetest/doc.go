// Package storetest has the common tests of stores. Only tests import it.
//
//   - The cost of a run: round trips ([Trips]), bytes ([Bytes]), room ([Room]), and growth with the
//     size of the state ([Growth]). A backend passes the store and its counters:
//
//     storetest.Trips(t, store, proxy.trips.Load)
//     storetest.Bytes(t, store, map[string]func() int64{"on the wire": proxy.bytes.Load})
//
//   - A network that drops bytes ([Network]), and every call of a store ([Calls]). They test that
//     each call on such a network ends within a bound.
//
//   - A store whose writes fail ([FailingStore]), for tests of crashes.
//
//   - A small disk that fills up ([RunOnSmallDisk]), on Linux.
//
//   - Free ports for servers that tests start ([StartOnPort]).
//
// checkpointtest has the rules of single calls; this package tests whole runs.
package storetest
