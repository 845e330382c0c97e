package state

import "reflect"

// Typed is a [Channel] that names the Go type of which its value has the JSON form: []T for a
// [List] of T, and map[K]V for a [Map]. The schema of a state is made of these types. Every channel
// of this package is Typed. A channel of yours need not be; then its schema allows any value.
type Typed interface {
	Channel
	ValueType() reflect.Type
}

// ValueType implements [Typed].
func (*cellChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// ValueType implements [Typed].
func (*untrackedChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// ValueType implements [Typed].
func (*onceChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// ValueType implements [Typed].
func (*sumChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// ValueType implements [Typed].
func (extremeChannel[T, R]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// ValueType implements [Typed].
func (*reducedChannel[T, R]) ValueType() reflect.Type { return reflect.TypeFor[T]() }

// ValueType implements [Typed].
func (*listChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[[]T]() }

// ValueType implements [Typed].
func (*stackChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[[]T]() }

// ValueType implements [Typed].
func (*topicChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[[]T]() }

// ValueType implements [Typed].
func (*setChannel[T]) ValueType() reflect.Type { return reflect.TypeFor[[]T]() }

// ValueType implements [Typed].
func (*mapChannel[K, V]) ValueType() reflect.Type { return reflect.TypeFor[map[K]V]() }

// ValueType implements [Typed].
func (contextChannel) ValueType() reflect.Type {
	return reflect.TypeFor[map[string]map[string]map[string]any]()
}
