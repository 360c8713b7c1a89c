import fc from "fast-check";
import { expect, test } from "vitest";
import { NodeHeap, type HeapNode } from "../../../src/kernel/base/node-heap.ts";

function node(key: number, stamp = 0, seq = 0): HeapNode {
  return { slot: -1, key, stamp, seq };
}

test("the first node has the smallest key, then the smallest stamp, then the smallest seq", () => {
  const heap = new NodeHeap();
  const nodes = [node(1, 1, 2), node(1, 1, 1), node(2), node(1, 0, 9), node(0, 9, 9)];
  for (const one of nodes) heap.push(one);
  const order: HeapNode[] = [];
  for (let first = heap.first; first !== undefined; first = heap.first) {
    order.push(first);
    heap.remove(first);
  }
  expect(order).toEqual([nodes[4], nodes[3], nodes[1], nodes[0], nodes[2]]);
});

test("a node that left the heap knows that it is in none", () => {
  const heap = new NodeHeap();
  const one = node(1);
  heap.push(one);
  heap.remove(one);
  expect(one.slot).toBe(-1);
  expect(heap.size).toBe(0);
});

test("whatever is pushed, moved and removed, the first node is the smallest that is there", () => {
  const step = fc.record({ what: fc.constantFrom("push", "move", "remove"), key: fc.nat(20), which: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new NodeHeap();
      const present: HeapNode[] = [];
      let seq = 0;
      for (const { what, key, which } of steps) {
        const index = which % Math.max(1, present.length);
        const chosen = present[index];
        if (what === "push" || chosen === undefined) {
          const added = node(key, 0, seq++);
          present.push(added);
          heap.push(added);
        } else if (what === "move") {
          chosen.key = key;
          heap.moved(chosen);
        } else {
          present.splice(index, 1);
          heap.remove(chosen);
        }
        const smallest = present.toSorted((a, b) => a.key - b.key || a.seq - b.seq)[0];
        expect(heap.first).toBe(smallest);
        expect(heap.size).toBe(present.length);
      }
    }),
  );
});
