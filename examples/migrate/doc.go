// Package migrate has the programs of docs/migrate.md, which people who know LangGraph or eino
// compare with their own. Each is an example of the tests.
package migrate
