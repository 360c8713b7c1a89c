export const spec = {
  name: "spin",
  description: "Never ends.",
  limits: { cpuMs: 100 },
};

export default () => {
  for (;;);
};
