// Package cost holds a store to what a run of a graph may cost: round trips ([Trips]), bytes
// ([Bytes]) and room ([Room]). Only tests import it. A backend calls each with the store that
// it made and with what it counts, on the wire or on the disk:
//
//	cost.Trips(t, store, proxy.trips.Load)
//	cost.Bytes(t, store, map[string]func() int64{"on the wire": proxy.bytes.Load})
//	cost.Room(t, store)
//
// What checkpointtest demands of a single call is demanded here of whole runs.
package cost
