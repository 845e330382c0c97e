// Package picture lays out a graph.Drawing and writes it as SVG, or as a page of HTML around it,
// alone or with what a run has done in the graph.
//
// # Layout
//
// New places the nodes in rows by the longest path from the start. Back edges are reversed for
// that, so that a loop leads upwards. Edges over several rows pass each row between them at a
// place of their own, and so does the label of an edge. A sweep over the rows orders them by the
// barycentres of their neighbours, which removes most crossings; the columns are then chosen so
// that long edges are straight. The method is that of Sugiyama, Tagawa and Toda (1981), with the
// columns of Brandes and Köpf (2001).
//
// Boxes never overlap, and edges never lead through a box or a label of another edge. This holds
// by construction: each box, label and long edge has a place of its own in its row, and edges bend
// only between rows.
//
// Subgraphs that are open are laid out alone and placed as one large box. Ten or more nodes with
// the same neighbours are placed as a grid.
//
// All coordinates are integers, so the same drawing gives the same bytes on each machine.
//
// # Live pictures
//
// The layout leaves room for counts, so a run changes classes and texts of a picture and moves
// nothing. A node is a group with the id that [NodeID] returns and the class of its [State];
// an edge is a group with the id that [EdgeID] returns and the class "taken" where a run took it.
package picture
