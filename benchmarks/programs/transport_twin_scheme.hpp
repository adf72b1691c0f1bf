// The scheme `ccm` of the model transport, written by hand for g++ by a programmer who knows the scheme and nothing of Steppe: one process, one
// array a field. A row at a time: midpoints, departure points, then every tracer.

#pragma once

#include "transport_twin_grid.hpp"

constexpr double TINY = 1e-100;
constexpr double STEEPEST = 3.0 * (1.0 - 10.0 * 2.220446049250313e-16);  // slope of a limited cubic, in units of the mean one

// Points of a row, on the sphere and in intervals of the grid, and the wind there.
struct Points {
    Row lon, lat, eta, x, y, z, u, v, w, along, across, down;  // the last three: share of the interval
    std::vector<int> row, level;
    std::vector<long> corner;  // of the first of 4 x 4 columns of the grid, in the uppermost level

    explicit Points(int n)
        : lon(n), lat(n), eta(n), x(n), y(n), z(n), u(n), v(n), w(n), along(n), across(n), down(n), row(n), level(n), corner(n) {}

    void find_angles(const double *px, const double *py, const double *pz)
    {
#pragma GCC ivdep
        for (size_t i = 0; i < lon.size(); i++) {
            lon[i] = std::atan2(py[i], px[i]);
            lat[i] = std::asin(std::max(-1.0, std::min(1.0, pz[i])));
        }
    }

    void find_intervals(const Grid &g, const double *height, int k)
    {
        for (int i = 0; i < g.columns; i++) {
            const double position = lon[i] * (g.columns / (2.0 * PI)) + (lon[i] < 0.0 ? g.columns : 0);
            const int column = int(position), j = g.row_below(lat[i]);
            along[i] = position - column;
            across[i] = (lat[i] - g.latitude(j)) / (g.latitude(j + 1) - g.latitude(j));
            row[i] = j;
            corner[i] = g.at(0, j - 1, column - 1);
        }
        for (int i = 0; i < g.columns && g.levels > 1; i++) {
            int above = std::min(k, g.levels - 2);
            while (above > 0 && height[i] < g.eta[above])
                above--;
            while (above < g.levels - 2 && height[i] >= g.eta[above + 1])
                above++;
            level[i] = above;
            down[i] = (height[i] - g.eta[above]) / (g.eta[above + 1] - g.eta[above]);
        }
    }
};

struct Wind {
    std::string flow;
    double alpha = 0.0, period = 1.0;
    Row u{}, v{}, w{};  // on the grid

    void exact(double lon, double lat, double t, double &east, double &north) const
    {
        const double rate = 2.0 * PI / period;
        if (flow == "tc1") {
            east = rate * (std::cos(lat) * std::cos(alpha) + std::cos(lon) * std::sin(lat) * std::sin(alpha));
            north = -rate * std::sin(lon) * std::sin(alpha);
        } else {
            const double moved = lon - rate * t, strength = 10.0 / period * std::cos(PI * t / period), wave = std::sin(moved);
            east = strength * wave * wave * std::sin(2.0 * lat) + rate * std::cos(lat);
            north = strength * std::sin(2.0 * moved) * std::cos(lat);
        }
    }

    // Cubic in longitude and latitude, linear between levels.
    template <int levels>
    void interpolate(const Grid &g, Points &p) const
    {
        for (int i = 0; i < g.columns; i++) {
            const auto along = g.along.lagrange(EQUAL, p.along[i]);
            const auto across = g.across[p.row[i] + 1].lagrange(&g.phi[p.row[i] + BEYOND - 1], p.lat[i]);
            double east[4] = {}, north[4] = {}, downward[4] = {};
            for (int k = 0; k < levels; k++)
                for (int j = 0; j < 4; j++) {
                    const long at = p.corner[i] + (p.level[i] + k) * g.level_length + j * g.row_length;
                    const double weight = across[j] * (levels == 1 ? 1.0 : k ? p.down[i] : 1.0 - p.down[i]);
                    for (int n = 0; n < 4; n++) {
                        east[n] += weight * u[at + n];
                        north[n] += weight * v[at + n];
                        downward[n] += levels == 1 ? 0.0 : weight * w[at + n];
                    }
                }
            p.u[i] = along[0] * east[0] + along[1] * east[1] + along[2] * east[2] + along[3] * east[3];
            p.v[i] = along[0] * north[0] + along[1] * north[1] + along[2] * north[2] + along[3] * north[3];
            p.w[i] = along[0] * downward[0] + along[1] * downward[1] + along[2] * downward[2] + along[3] * downward[3];
        }
    }
};

// Hermite's cubic between points m and m + 1 of four, with slopes estimated from all of them; SCM0 when limited. Keeps constants to the bit.
template <bool limited>
static inline double hermite(const double *f, const Cubic &cubic, double s, int m = 1)
{
    const double p = f[1] - f[0], q = f[2] - f[1], r = f[3] - f[2], from = f[m], to = f[m + 1], change = to - from;
    double start = cubic.start[0] * p + cubic.start[1] * q + cubic.start[2] * r;
    double end = cubic.end[0] * p + cubic.end[1] * q + cubic.end[2] * r;
    if (limited) {
        const double least = std::min(0.0, STEEPEST * change), most = std::max(0.0, STEEPEST * change);
        start = std::min(most, std::max(least, start));
        end = std::min(most, std::max(least, end));
    }
    const double value = from + change * (s * s * (3.0 - 2.0 * s)) + s * (1.0 - s) * (start * (1.0 - s) - end * s);
    return limited ? std::min(std::max(from, to), std::max(std::min(from, to), value)) : value;
}

// A tracer at the points of a row: along longitudes, then latitudes, then levels.
template <bool limited, int levels>
static void interpolate(const Grid &g, const Points &p, const double *q, double *result)
{
    for (int i = 0; i < g.columns; i++) {
        const int first = levels == 1 ? 0 : g.first_level(p.level[i]);
        double values[4 * levels][4], rows[levels][4], columns[4];
        for (int k = 0; k < levels; k++)
            for (int j = 0; j < 4; j++)
                std::copy_n(q + p.corner[i] + (first + k) * g.level_length + j * g.row_length, 4, values[4 * k + j]);
        for (int n = 0; n < 4 * levels; n++)
            rows[n / 4][n % 4] = hermite<limited>(values[n], g.along, p.along[i]);
        for (int k = 0; k < levels; k++)
            columns[k] = hermite<limited>(rows[k], g.across[p.row[i] + 1], p.across[i]);
        result[i] = levels == 1 ? columns[0] : hermite<limited>(columns, g.down[p.level[i]], p.down[i], p.level[i] - first);
    }
}

struct Transport {
    Grid g;
    Wind wind;
    double dt = 0.0;
    int iterations = 3;
    bool on_grid = false, limited = true, fix = false;  // on_grid: the wind is interpolated
    std::vector<Row> tracers{}, results{};
    Row x{}, y{}, z{}, eta{}, cosine{}, sine{}, masses{};  // midpoints of the last step; of longitudes; what the fixer keeps
    Points p{g.columns};

    Transport(const Grid &grid, const Wind &blowing) : g(grid), wind(blowing)
    {
        for (Row *field : {&wind.u, &wind.v, &wind.w})
            field->resize(g.at(g.levels, 0));
        for (int i = 0; i < g.columns; i++) {
            cosine.push_back(std::cos(g.longitude(i)));
            sine.push_back(std::sin(g.longitude(i)));
        }
        g.each([&](long, int k, int j, int i) {
            x.push_back(std::cos(g.latitude(j)) * cosine[i]);
            y.push_back(std::cos(g.latitude(j)) * sine[i]);
            z.push_back(std::sin(g.latitude(j)));
            eta.push_back(g.eta[k]);
        });
    }

    void add(const Row &tracer)
    {
        tracers.push_back(tracer);
        results.push_back(tracer);
        masses.push_back(g.integral(tracer));
    }

    // Moves all tracers by the wind at time t, the middle of the step.
    void step(double t)
    {
        if (on_grid)
            for (Row *field : {&wind.u, &wind.v, &wind.w})
                g.extend(*field, field == &wind.w ? 1.0 : -1.0);
        for (Row &tracer : tracers)
            g.extend(tracer, 1.0);
        const auto move = g.levels == 1 ? (limited ? interpolate<true, 1> : interpolate<false, 1>) : (limited ? interpolate<true, 4> : interpolate<false, 4>);
        for (int k = 0; k < g.levels; k++)
            for (int j = 0; j < g.rows; j++) {
                trace(k, j, t);
                for (size_t m = 0; m < tracers.size(); m++)
                    move(g, p, tracers[m].data(), &results[m][g.at(k, j)]);
            }
        for (size_t m = 0; m < tracers.size(); m++) {
            if (fix)
                fix_mass(tracers[m], results[m], masses[m]);
            tracers[m].swap(results[m]);
        }
    }

    // The departure points of a row by the midpoint rule (Ritchie), begun from the midpoints of the last step.
    void trace(int k, int j, double t)
    {
        const long first = (long(k) * g.rows + j) * g.columns;
        double *mx = &x[first], *my = &y[first], *mz = &z[first], *me = &eta[first];
        const double sin_a = std::sin(g.latitude(j)), cos_a = std::cos(g.latitude(j)), top = g.eta.front(), bottom = g.eta.back();
        for (int again = 0; again < iterations; again++) {
            p.find_angles(mx, my, mz);
            if (on_grid) {
                p.find_intervals(g, me, k);
                g.levels == 1 ? wind.interpolate<1>(g, p) : wind.interpolate<2>(g, p);
            } else
                for (int i = 0; i < g.columns; i++)
                    wind.exact(p.lon[i], p.lat[i], t, p.u[i], p.v[i]);
#pragma GCC ivdep
            for (int i = 0; i < g.columns; i++) {  // a point at the pole itself lies at longitude 0
                const double u = p.u[i], v = p.v[i], speed = std::sqrt(u * u + v * v) + TINY, length = std::tan(0.5 * dt * speed) / speed;
                const double r = std::sqrt(mx[i] * mx[i] + my[i] * my[i]) + TINY, cos_m = (mx[i] + TINY) / r, sin_m = my[i] / r;
                const double to_x = cos_a * cosine[i] + length * (u * sin_m + v * mz[i] * cos_m);
                const double to_y = cos_a * sine[i] - length * (u * cos_m - v * mz[i] * sin_m);
                const double to_z = sin_a - length * v * r, scale = 1.0 / std::sqrt(to_x * to_x + to_y * to_y + to_z * to_z);
                mx[i] = to_x * scale;
                my[i] = to_y * scale;
                mz[i] = to_z * scale;
                me[i] = std::max(top, std::min(bottom, g.eta[k] - 0.5 * dt * p.w[i]));
            }
        }
#pragma GCC ivdep
        for (int i = 0; i < g.columns; i++) {
            const double ax = cos_a * cosine[i], ay = cos_a * sine[i], twice = 2.0 * (ax * mx[i] + ay * my[i] + sin_a * mz[i]);
            p.x[i] = twice * mx[i] - ax;
            p.y[i] = twice * my[i] - ay;
            p.z[i] = twice * mz[i] - sin_a;
            p.eta[i] = std::max(top, std::min(bottom, 2.0 * me[i] - g.eta[k]));
        }
        p.find_angles(p.x.data(), p.y.data(), p.z.data());
        p.find_intervals(g, p.eta.data(), k);
    }

    // CCM's fixer changes a tracer where there is much of it and it has changed; in two dimensions it knows no eta.
    void fix_mass(const Row &before, Row &after, double kept) const
    {
        Row change(after.size());
        g.each([&](long n, int k, int, int) { change[n] = (g.levels == 1 ? 1.0 : g.eta[k]) * std::abs(after[n] - before[n]); });
        double movable = TINY;
        g.each([&](long n, int k, int j, int) { movable += g.thickness[k] * g.area[j] * after[n] * change[n]; });
        const double alpha = (kept - g.integral(after)) / movable;
        g.each([&](long n, int, int, int) { after[n] *= 1.0 + std::max(-0.1, std::min(0.1, alpha * change[n])); });
    }
};
