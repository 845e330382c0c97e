// Package stock has the configuration of the command weft, for programs that add to it:
//
//	c := stock.Config()
//	c.Nodes = map[string]workflow.Kind{"shout": …}
//	weftcli.Main(c)
//
// Such a program contains the clients of all stores and models of the command.
package stock
