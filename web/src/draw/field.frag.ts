/** The shaders of the map: a triangle over the panel; each pixel looks its cell up, subtracts if asked, and takes its colour. */

export const CORNERS = `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0); }`;

export const COLOURING = `#version 300 es
precision highp float; precision highp int; precision highp usampler2D;
uniform usampler2D a, b;  // levels of the first and the second field
uniform sampler2D palette;
uniform ivec2 shape;      // columns, rows
uniform vec2 start;       // cell coordinates (east, south) of the panel's upper left corner
uniform vec2 stride;      // cells per pixel
uniform vec2 corner;      // the panel's upper left corner in gl_FragCoord [pixel]
uniform uvec2 top;        // levels "outside the mask" of a and b; one less is "missing"
uniform vec4 quantum;     // scale and offset of a, of b
uniform vec2 range;       // values at the two ends of the palette
uniform int mode;         // 0 a, 1 b, 2 b minus a
uniform bool smoothly;
uniform vec3 hatch;
uniform float ratio;      // device pixels a CSS pixel
out vec4 colour;

// -1 outside, -2 missing, else 0; the value goes into x
int look(ivec2 cell, out float x) {
  x = 0.0;
  if (any(lessThan(cell, ivec2(0))) || any(greaterThanEqual(cell, shape))) return -1;
  float va = 0.0, vb = 0.0;
  int found = 0;
  if (mode != 1) {
    uint level = texelFetch(a, cell, 0).r;
    if (level >= top.x - 1u) found = level == top.x ? -1 : -2;
    va = quantum.x * float(level) + quantum.y;
  }
  if (mode != 0) {
    uint level = texelFetch(b, cell, 0).r;
    if (level >= top.y - 1u && found != -1) found = level == top.y ? -1 : -2;
    vb = quantum.z * float(level) + quantum.w;
  }
  x = mode == 0 ? va : mode == 1 ? vb : vb - va;
  return found;
}
void main() {
  vec2 at = start + vec2(gl_FragCoord.x - corner.x, corner.y - gl_FragCoord.y) * stride;
  float x;
  int found = look(ivec2(floor(at)), x);
  if (found == -1) discard;
  if (found == -2) {
    float stripe = mod((gl_FragCoord.x + gl_FragCoord.y) / ratio, 8.0);
    float alpha = stripe < 2.2 ? 1.0 : 0.16;
    colour = vec4(hatch * alpha, alpha);
    return;
  }
  if (smoothly) {
    ivec2 base = ivec2(floor(at - 0.5));
    vec2 part = fract(at - 0.5);
    float sum = 0.0, weight = 0.0;
    for (int k = 0; k < 4; k++) {
      ivec2 step = ivec2(k & 1, k >> 1);
      float near;
      if (look(base + step, near) != 0) continue;
      float w = (step.x == 1 ? part.x : 1.0 - part.x) * (step.y == 1 ? part.y : 1.0 - part.y);
      sum += w * near;
      weight += w;
    }
    x = sum / weight;  // the cell itself has a value, so the weight is above 0
  }
  float share = clamp((x - range.x) / (range.y - range.x), 0.0, 1.0);
  colour = vec4(texelFetch(palette, ivec2(int(share * 255.0 + 0.5), 0), 0).rgb, 1.0);
}`;
