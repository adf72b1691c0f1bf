// Grids of the twin of transport's scheme `ccm`: (level, row, column), rows from the south, columns from longitude 0, levels from the top.
//
// A field has rows beyond the poles and columns beyond its ends, filled before each step, so that no index wraps in a loop. The sphere has radius 1.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using Row = std::vector<double>;

constexpr double PI = 3.14159265358979323846;
constexpr double EQUAL[] = {-1.0, 0.0, 1.0, 2.0};
constexpr int BEYOND = 2, WEST = 1, EAST = 3;  // rows at each pole and columns that a field has more than the grid

// What a cubic through four points says of the interval between points m and m + 1.
struct Cubic {
    std::array<double, 3> start{}, end{};  // its length times the slopes at its ends, from the three differences between the values
    std::array<double, 4> scale{};         // of Lagrange's weights

    Cubic(const double *x, int m)
    {
        for (int node = 0; node < 4; node++) {
            scale[node] = 1.0;
            for (int other = 0; other < 4; other++)
                scale[node] /= other == node ? 1.0 : x[node] - x[other];
            for (int difference = 0; difference < node; difference++) {
                start[difference] += (x[m + 1] - x[m]) * slope(x, node, x[m]);
                end[difference] += (x[m + 1] - x[m]) * slope(x, node, x[m + 1]);
            }
        }
    }

    double slope(const double *x, int node, double at) const
    {
        double sum = 0.0;
        for (int left = 0; left < 4; left++) {
            double product = left == node ? 0.0 : scale[node];
            for (int other = 0; other < 4; other++)
                product *= other == node || other == left ? 1.0 : at - x[other];
            sum += product;
        }
        return sum;
    }

    std::array<double, 4> lagrange(const double *x, double at) const
    {
        const double a = at - x[0], b = at - x[1], c = at - x[2], d = at - x[3];
        return {b * c * d * scale[0], a * c * d * scale[1], a * b * d * scale[2], a * b * c * scale[3]};
    }
};

struct Grid {
    int rows, columns, levels = 1;
    long row_length, level_length;
    Row phi, area, eta{0.0}, thickness{1.0};  // latitudes from row -BEYOND on, area of a cell in units of the sphere, levels
    Cubic along{EQUAL, 1};                    // of every interval of columns
    std::vector<Cubic> across, down;          // of the intervals of rows from row -1 on, and of levels

    Grid(bool gauss, int n, const std::string &level_file)
        : rows(n), columns(2 * n), row_length(columns + WEST + EAST), level_length((n + 2 * BEYOND) * row_length), phi(n + 2 * BEYOND), area(n)
    {
        for (int j = 0; j < n; j++) {
            phi[BEYOND + j] = ((j + 0.5) / n - 0.5) * PI;
            area[j] = std::sin(0.5 * PI / n) * std::cos(phi[BEYOND + j]) / columns;
            if (gauss)
                place_gaussian(j);
        }
        for (int j = 0; j < BEYOND; j++) {
            phi[BEYOND - 1 - j] = -PI - phi[BEYOND + j];
            phi[BEYOND + n + j] = PI - phi[BEYOND + n - 1 - j];
        }
        for (int j = 0; j <= n; j++)
            across.emplace_back(&phi[j], 1);
        if (!level_file.empty())
            read_levels(level_file);
    }

    // Row j at a root of the Legendre polynomial (Newton's method), with the weight of Gauss.
    void place_gaussian(int j)
    {
        double z = -std::cos(PI * (j + 0.75) / (rows + 0.5)), slope = 1.0;
        for (int again = 0; again < 8; again++) {
            double p = 1.0, before = 0.0;
            for (int n = 1; n <= rows; n++) {
                const double next = ((2 * n - 1) * z * p - (n - 1) * before) / n;
                before = p;
                p = next;
            }
            slope = rows * (before - z * p) / (1.0 - z * z);
            z -= p / slope;
        }
        phi[BEYOND + j] = std::asin(z);
        area[j] = 1.0 / ((1.0 - z * z) * slope * slope * columns);
    }

    // Levels amid hybrid interfaces, from a table `interface,a,b`.
    void read_levels(const std::string &path)
    {
        Row interfaces;
        std::ifstream file(path);
        double a = 0.0, b = 0.0;
        for (std::string line; std::getline(file, line);)
            if (std::sscanf(line.c_str(), "%*d,%lf,%lf", &a, &b) == 2)
                interfaces.push_back(a + b);
        levels = int(interfaces.size()) - 1;
        eta.resize(levels);
        thickness.resize(levels);
        for (int k = 0; k < levels; k++) {
            eta[k] = 0.5 * (interfaces[k] + interfaces[k + 1]);
            thickness[k] = interfaces[k + 1] - interfaces[k];
        }
        Row all = eta;  // and one more level at each end, where a tracer is as at the end
        all.insert(all.begin(), 2.0 * eta[0] - eta[1]);
        all.push_back(2.0 * eta[levels - 1] - eta[levels - 2]);
        for (int k = 0; k + 1 < levels; k++) {
            down.emplace_back(&all[k], 1);
            for (auto *slopes : {&down[k].start, &down[k].end})
                if (k == 0)
                    *slopes = {(*slopes)[1], (*slopes)[2], 0.0};
                else if (k == levels - 2)
                    *slopes = {0.0, (*slopes)[0], (*slopes)[1]};
        }
    }

    int first_level(int k) const { return std::max(0, std::min(k - 1, levels - 4)); }  // of the four around the interval below k
    long at(int k, int j, int i = 0) const { return k * level_length + (BEYOND + j) * row_length + WEST + i; }
    double longitude(int i) const { return 2.0 * PI * i / columns; }
    double latitude(int j) const { return phi[BEYOND + j]; }

    int row_below(double lat) const
    {
        int j = int((lat / PI + 0.5) * rows + 0.5) - 1;  // right on equal latitudes, at most one off on Gaussian ones
        j += lat >= latitude(j + 1);
        return j - (lat < latitude(j));
    }

    template <typename Work>
    void each(Work work) const
    {
        for (int k = 0; k < levels; k++)
            for (int j = 0; j < rows; j++)
                for (int i = 0; i < columns; i++)
                    work(at(k, j, i), k, j, i);
    }

    double integral(const Row &q) const
    {
        double total = 0.0;
        each([&](long n, int k, int j, int) { total += thickness[k] * area[j] * q[n]; });
        return total;
    }

    // Fills a field beyond the grid: from the opposite longitude beyond a pole, where a wind has the other sign.
    void extend(Row &field, double sign) const
    {
        for (int k = 0; k < levels; k++)
            for (int j = -BEYOND; j < rows + BEYOND; j++) {
                double *to = &field[at(k, j)];
                if (j < 0 || j >= rows) {
                    const double *from = &field[at(k, j < 0 ? -1 - j : 2 * rows - 1 - j)];
                    for (int i = 0; i < columns; i++)
                        to[i] = sign * from[(i + columns / 2) % columns];
                }
                to[-1] = to[columns - 1];
                for (int i = 0; i < EAST; i++)
                    to[columns + i] = to[i];
            }
    }
};
