/**
 * The shaders of the map: a triangle over the panel; each pixel looks its cell up, subtracts if asked, and takes its colour.
 *
 * MODE (0 a, 1 b, 2 b minus a), SMOOTH, LOGARITHMIC and GLOBE are put in when a program is made: where the processor draws, a branch that is never taken costs.
 */

export const CORNERS = `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0); }`;

export const colouring = (mode: 0 | 1 | 2, smooth: boolean, logarithmic: boolean, globe: boolean) => `#version 300 es
#define MODE ${mode}
#define SMOOTH ${smooth ? 1 : 0}
#define LOGARITHMIC ${logarithmic ? 1 : 0}
#define GLOBE ${globe ? 1 : 0}
precision highp float; precision highp int; precision highp usampler2D;
uniform usampler2D a, b;  // levels of the first and the second field
uniform sampler2D palette;
uniform ivec2 shape;      // columns, rows
uniform vec2 start;       // cell coordinates (east, south) of the panel's upper left corner; on a globe of the equator below its middle
uniform vec2 stride;      // cells per pixel; on a globe per radian
uniform vec2 corner;      // the panel's upper left corner in gl_FragCoord [pixel]; on a globe its middle
uniform vec3 disc;        // of a globe: radius [pixel], sine and cosine of the latitude in the middle
uniform uvec2 top;        // levels "outside the mask" of a and b; one less is "missing"
uniform vec4 quantum;     // scale and offset of a, of b
uniform vec2 range;       // values at the two ends of the palette
uniform vec3 hatch;
uniform float ratio;      // device pixels a CSS pixel
out vec4 colour;

// -1 outside, -2 missing, else 0; the value goes into x
int look(ivec2 cell, out float x) {
#if MODE != 1
  uint one = texelFetch(a, cell, 0).r;
  if (one >= top.x - 1u) return one == top.x ? -1 : -2;
  x = quantum.x * float(one) + quantum.y;
#endif
#if MODE != 0
  uint other = texelFetch(b, cell, 0).r;
  if (other >= top.y - 1u) return other == top.y ? -1 : -2;
#if MODE == 1
  x = quantum.z * float(other) + quantum.w;
#else
  x = quantum.z * float(other) + quantum.w - x;
#endif
#endif
  return 0;
}
void main() {
#if GLOBE
  vec2 p = (gl_FragCoord.xy - corner) / disc.x;
  float depth = 1.0 - dot(p, p);
  if (depth < 0.0) discard;
  float ahead = sqrt(depth) * disc.z - p.y * disc.y;
  vec2 at = start + stride * vec2(atan(p.x, ahead), -atan(sqrt(depth) * disc.y + p.y * disc.z, length(vec2(p.x, ahead))));
  at = vec2(mod(at.x, float(shape.x)), clamp(at.y, 0.0, float(shape.y))); // the outermost rows go up to the poles
#else
  vec2 at = start + vec2(gl_FragCoord.x - corner.x, corner.y - gl_FragCoord.y) * stride;
#endif
  ivec2 cell = clamp(ivec2(floor(at)), ivec2(0), shape - 1); // the scissor is the grid, give or take half a pixel
  float x;
  int found = look(cell, x);
  if (found == -1) discard;
  if (found == -2) {
    float stripe = mod((gl_FragCoord.x + gl_FragCoord.y) / ratio, 8.0);
    float alpha = stripe < 2.2 ? 1.0 : 0.16;
    colour = vec4(hatch * alpha, alpha);
    return;
  }
#if SMOOTH
  {
    ivec2 base = ivec2(floor(at - 0.5));
    vec2 part = fract(at - 0.5);
    float sum = 0.0, weight = 0.0;
    for (int k = 0; k < 4; k++) {
      ivec2 step = ivec2(k & 1, k >> 1);
      float near;
      ivec2 place = base + step;
#if GLOBE
      if (place.y < 0 || place.y >= shape.y) place = ivec2(place.x + shape.x / 2, clamp(place.y, 0, shape.y - 1)); // beyond a pole
      place.x = (place.x + shape.x) % shape.x;
#endif
      if (any(lessThan(place, ivec2(0))) || any(greaterThanEqual(place, shape)) || look(place, near) != 0) continue;
      float w = (step.x == 1 ? part.x : 1.0 - part.x) * (step.y == 1 ? part.y : 1.0 - part.y);
      sum += w * near;
      weight += w;
    }
    x = sum / weight;  // the cell itself has a value, so the weight is above 0
  }
#endif
#if LOGARITHMIC
  float share = clamp(log(max(x, range.x) / range.x) / log(range.y / range.x), 0.0, 1.0);
#else
  float share = clamp((x - range.x) / (range.y - range.x), 0.0, 1.0);
#endif
  colour = vec4(texelFetch(palette, ivec2(int(share * float(textureSize(palette, 0).x - 1) + 0.5), 0), 0).rgb, 1.0);
}`;
