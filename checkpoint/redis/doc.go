// Package redis keeps checkpoints in Redis.
package redis
