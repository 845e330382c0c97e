// Package mcptest has a server of the Model Context Protocol for tests, as a program and at an
// address.
//
// Its tool echo repeats a text and the variable SHOP_KEY. Its tool pay asks a person for an amount
// first. It lets clients read shop:menu.
package mcptest
