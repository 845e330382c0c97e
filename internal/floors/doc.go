// Package floors holds no code, only the test that keeps the house in order: which package may import which, by
// which door a module enters, and what no file may hold. Look at the list in floors_test.go before adding an import;
// add a new package there, on its floor.
package floors
