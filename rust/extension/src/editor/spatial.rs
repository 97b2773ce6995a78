//! Places and bounds of nodes in the world.

use godot::builtin::{Aabb, Rect2, Vector2, Vector3};
use godot::classes::{
    AnimatedSprite2D, BoxShape3D, CanvasItem, CapsuleShape3D, CollisionPolygon2D, CollisionShape2D,
    CollisionShape3D, Control, CylinderShape3D, GeometryInstance3D, Line2D, Node, Node2D, Node3D,
    Polygon2D, Shape3D, SphereShape3D, Sprite2D, TileMapLayer,
};
use godot::obj::Gd;
use serde_json::{Value, json};

use super::snapshots::is_within;

/// Spaces that do not overlap each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    Ui,
    Flat,
    Deep,
}

/// A node with a place in the world.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    path: String,
    class: String,
    space: Space,
    position: [f32; 3],
    rotation: [f32; 3],
    /// Lower and upper corner, parallel to the axes of the world.
    bounds: Option<([f32; 3], [f32; 3])>,
    visible: bool,
    /// Physics body that the node is part of.
    body: Option<String>,
}

impl Placed {
    pub(crate) fn of(node: &Gd<Node>, path: &str, body: Option<&str>) -> Option<Self> {
        let mut placed = Self {
            path: path.to_owned(),
            class: node.get_class().to_string(),
            space: Space::Flat,
            position: [0.0; 3],
            rotation: [0.0; 3],
            bounds: None,
            visible: true,
            body: body.map(str::to_owned),
        };
        match node.clone().try_cast::<CanvasItem>() {
            Ok(item) => placed.place_flat(&item)?,
            Err(node) => placed.place_deep(&node.try_cast::<Node3D>().ok()?),
        }
        Some(placed)
    }

    fn place_flat(&mut self, item: &Gd<CanvasItem>) -> Option<()> {
        let transform = item.get_global_transform();
        self.visible = item.is_visible_in_tree();
        let local = match item.clone().try_cast::<Control>() {
            Ok(control) => {
                self.space = Space::Ui;
                Some(Rect2::new(Vector2::ZERO, control.get_size()))
            }
            Err(item) => local_rect(&item.try_cast::<Node2D>().ok()?),
        };
        self.position = [transform.origin.x, transform.origin.y, 0.0];
        self.rotation = [transform.rotation().to_degrees(), 0.0, 0.0];
        self.bounds = local.map(|it| {
            let it = (transform * it).abs();
            let end = it.position + it.size;
            ([it.position.x, it.position.y, 0.0], [end.x, end.y, 0.0])
        });
        Some(())
    }

    fn place_deep(&mut self, node: &Gd<Node3D>) {
        let transform = node.get_global_transform();
        self.space = Space::Deep;
        self.visible = node.is_visible_in_tree();
        let rotation = node.get_global_rotation_degrees();
        self.position = transform.origin.to_array();
        self.rotation = rotation.to_array();
        self.bounds = local_box(node).map(|it| {
            let it = (transform * it).abs();
            (it.position.to_array(), (it.position + it.size).to_array())
        });
    }

    pub(crate) fn to_json(&self) -> Value {
        let flat = self.space != Space::Deep;
        let point = |it: &[f32; 3]| match flat {
            true => json!([tidy(it[0]), tidy(it[1])]),
            false => json!([tidy(it[0]), tidy(it[1]), tidy(it[2])]),
        };
        let mut map =
            json!({"path": self.path, "type": self.class, "position": point(&self.position)});
        if self.rotation.iter().any(|it| tidy(*it) != 0.0) {
            map["rotation"] =
                if flat { json!(tidy(self.rotation[0])) } else { point(&self.rotation) };
        }
        if let Some((from, to)) = &self.bounds {
            let size = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
            map["bounds"] = json!({"position": point(from), "size": point(&size)});
        }
        if !self.visible {
            map["visible"] = json!(false);
        }
        map
    }
}

/// Three decimals, without a negative zero.
fn tidy(number: f32) -> f64 {
    let number = (f64::from(number) * 1000.0).round() / 1000.0;
    if number.is_finite() { number + 0.0 } else { 0.0 }
}

fn local_rect(node: &Gd<Node2D>) -> Option<Rect2> {
    let node = match node.clone().try_cast::<Sprite2D>() {
        Ok(sprite) => return sprite.get_texture().map(|_| sprite.get_rect()),
        Err(node) => node,
    };
    let node = match node.try_cast::<CollisionShape2D>() {
        Ok(it) => return it.get_shape().map(|it| it.get_rect()),
        Err(node) => node,
    };
    let node = match node.try_cast::<AnimatedSprite2D>() {
        Ok(it) => return frame_rect(&it),
        Err(node) => node,
    };
    let node = match node.try_cast::<TileMapLayer>() {
        Ok(it) => return tiles_rect(&it),
        Err(node) => node,
    };
    let node = match node.try_cast::<CollisionPolygon2D>() {
        Ok(it) => return hull(it.get_polygon().as_slice()),
        Err(node) => node,
    };
    let node = match node.try_cast::<Polygon2D>() {
        Ok(it) => return hull(it.get_polygon().as_slice()),
        Err(node) => node,
    };
    hull(node.try_cast::<Line2D>().ok()?.get_points().as_slice())
}

fn frame_rect(sprite: &Gd<AnimatedSprite2D>) -> Option<Rect2> {
    let frames = sprite.get_sprite_frames()?;
    let animation = sprite.get_animation();
    if !frames.has_animation(&animation) || sprite.get_frame() >= frames.get_frame_count(&animation)
    {
        return None;
    }
    let size = frames.get_frame_texture(&animation, sprite.get_frame())?.get_size();
    let corner = if sprite.is_centered() { size * -0.5 } else { Vector2::ZERO };
    Some(Rect2::new(corner + sprite.get_offset(), size))
}

fn tiles_rect(layer: &Gd<TileMapLayer>) -> Option<Rect2> {
    let size = layer.get_tile_set()?.get_tile_size();
    let used = layer.get_used_rect();
    (used.size.x > 0).then(|| {
        Rect2::from_components(
            (used.position.x * size.x) as f32,
            (used.position.y * size.y) as f32,
            (used.size.x * size.x) as f32,
            (used.size.y * size.y) as f32,
        )
    })
}

fn hull(points: &[Vector2]) -> Option<Rect2> {
    let first = Rect2::new(*points.first()?, Vector2::ZERO);
    Some(points.iter().fold(first, |rect, it| rect.expand(*it)))
}

fn local_box(node: &Gd<Node3D>) -> Option<Aabb> {
    let node = match node.clone().try_cast::<GeometryInstance3D>() {
        Ok(it) => return Some(it.get_aabb()).filter(|it| it.size != Vector3::ZERO),
        Err(node) => node,
    };
    let shape = node.try_cast::<CollisionShape3D>().ok()?.get_shape()?;
    let size = shape_size(shape)?;
    Some(Aabb::new(size * -0.5, size))
}

/// Size of a shape around its center; none for shapes of many points, which have no cheap bounds.
fn shape_size(shape: Gd<Shape3D>) -> Option<Vector3> {
    let shape = match shape.try_cast::<BoxShape3D>() {
        Ok(it) => return Some(it.get_size()),
        Err(shape) => shape,
    };
    let shape = match shape.try_cast::<SphereShape3D>() {
        Ok(it) => return Some(Vector3::splat(it.get_radius() * 2.0)),
        Err(shape) => shape,
    };
    let round = |radius: f32, height: f32| Some(Vector3::new(radius * 2.0, height, radius * 2.0));
    let shape = match shape.try_cast::<CapsuleShape3D>() {
        Ok(it) => return round(it.get_radius(), it.get_height()),
        Err(shape) => shape,
    };
    let it = shape.try_cast::<CylinderShape3D>().ok()?;
    round(it.get_radius(), it.get_height())
}

/// Pairs whose bounds overlap, at most `limit`, and how many there are. Left out are hidden nodes,
/// parents with what is below them, and parts of the same body.
pub(crate) fn overlaps(placed: &[Placed], limit: usize) -> (Vec<(&str, &str)>, usize) {
    let mut sorted: Vec<_> =
        placed.iter().filter(|it| it.visible).filter_map(|it| Some((it, it.bounds?))).collect();
    sorted.sort_by(|a, b| {
        (a.0.space, a.1.0[0])
            .partial_cmp(&(b.0.space, b.1.0[0]))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let (mut pairs, mut count) = (Vec::new(), 0);
    for (index, (one, bounds)) in sorted.iter().enumerate() {
        // Sorted by the left edge: once one begins right of this, so do all that follow.
        let reach = sorted[index + 1..]
            .iter()
            .take_while(|it| it.0.space == one.space && it.1.0[0] < bounds.1[0]);
        for (other, _) in reach.filter(|it| intersects(bounds, &it.1, one.space)) {
            if one.is_related(other) {
                continue;
            }
            count += 1;
            if pairs.len() < limit {
                pairs.push((one.path.as_str(), other.path.as_str()));
            }
        }
    }
    (pairs, count)
}

fn intersects(a: &([f32; 3], [f32; 3]), b: &([f32; 3], [f32; 3]), space: Space) -> bool {
    let axes = if space == Space::Deep { 3 } else { 2 };
    (0..axes).all(|axis| a.0[axis] < b.1[axis] && b.0[axis] < a.1[axis])
}

impl Placed {
    fn is_related(&self, other: &Self) -> bool {
        is_within(&self.path, &other.path)
            || is_within(&other.path, &self.path)
            || self.body.is_some() && self.body == other.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(path: &str, x: f32, width: f32, body: Option<&str>) -> Placed {
        Placed {
            path: path.into(),
            class: "Node2D".into(),
            space: Space::Flat,
            position: [x, 0.0, 0.0],
            rotation: [0.0; 3],
            bounds: Some(([x, 0.0, 0.0], [x + width, 1.0, 0.0])),
            visible: true,
            body: body.map(Into::into),
        }
    }

    #[test]
    fn overlaps_leave_out_relatives_and_touching_edges() {
        let nodes = [
            placed("A", 0.0, 10.0, None),
            placed("A/Child", 1.0, 2.0, None),
            placed("B", 5.0, 10.0, Some("B")),
            placed("B/Shape", 6.0, 1.0, Some("B")),
            placed("C", 15.0, 1.0, None),
        ];
        let (pairs, count) = overlaps(&nodes, 1);
        assert_eq!((pairs, count), (vec![("A", "B")], 2));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(tidy(-0.000_01).to_string(), "0");
        assert_eq!(tidy(1.234_56), 1.235);
    }
}
