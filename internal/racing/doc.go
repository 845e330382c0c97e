// Package racing lets clients in this process and in another one work on one store at once, and
// judges whether what all of them saw can be told as one story, in which each call happens at once.
package racing
