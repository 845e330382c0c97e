// Package fleet is the workflow pages.yaml for two workers on Temporal. One command starts a
// server, a store and both workers, and kills the one that has the run. The other goes on with it:
//
//	cd temporal/e2e && go run ./fleet
//
// It needs no installation. The program is in the module temporal/e2e, which has the server.
package fleet
