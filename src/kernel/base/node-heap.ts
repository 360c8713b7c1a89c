/** Element of a heap, ordered by smallest `key`, then smallest `stamp`, then smallest `seq`. */
export interface HeapNode {
  /** Index of the node in its heap; -1 outside. A node is in at most one heap at a time. */
  slot: number;
  key: number;
  stamp: number;
  seq: number;
}

/** Binary heap whose nodes store their index, so that any of them can be moved or removed in O(log n). */
export class NodeHeap<T extends HeapNode> {
  readonly #nodes: T[] = [];

  get first(): T | undefined {
    return this.#nodes[0];
  }

  get size(): number {
    return this.#nodes.length;
  }

  push(node: T): void {
    this.#nodes.push(node);
    this.#rise(node, this.#nodes.length - 1);
  }

  remove(node: T): void {
    const slot = node.slot;
    const last = this.#nodes.pop();
    node.slot = -1;
    if (last === undefined || last === node) return;
    this.#nodes[slot] = last;
    last.slot = slot;
    this.moved(last);
  }

  /** Restores the heap's order after a node's key, stamp or seq changed. */
  moved(node: T): void {
    const slot = node.slot;
    this.#rise(node, slot);
    if (node.slot === slot) this.#sink(node, slot);
  }

  #rise(node: T, from: number): void {
    const nodes = this.#nodes;
    let slot = from;
    while (slot > 0) {
      const above = (slot - 1) >> 1;
      const parent = nodes[above];
      if (parent === undefined || !isBefore(node, parent)) break;
      nodes[slot] = parent;
      parent.slot = slot;
      slot = above;
    }
    nodes[slot] = node;
    node.slot = slot;
  }

  #sink(node: T, from: number): void {
    const nodes = this.#nodes;
    let slot = from;
    for (;;) {
      let below = 2 * slot + 1;
      let child = nodes[below];
      const right = nodes[below + 1];
      if (child === undefined) break;
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        below++;
      }
      if (!isBefore(child, node)) break;
      nodes[slot] = child;
      child.slot = slot;
      slot = below;
    }
    nodes[slot] = node;
    node.slot = slot;
  }
}

function isBefore(a: HeapNode, b: HeapNode): boolean {
  if (a.key !== b.key) return a.key < b.key;
  if (a.stamp !== b.stamp) return a.stamp < b.stamp;
  return a.seq < b.seq;
}
